package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

func TestParseModifiers_EveryWordIsUnderstoodOrAnError(t *testing.T) {
	m, err := source.ParseModifiers("embed body hl=name  context=2 hl=Lock.Release")
	require.NoError(t, err)
	require.Equal(t, source.Modifiers{Body: true, Context: 2, Highlight: []string{"name", "Lock.Release"}}, m)
	m, err = source.ParseModifiers(" embed ")
	require.NoError(t, err)
	require.Zero(t, m)

	for title, want := range map[string]string{
		"":                          `the title "" does not begin with the word embed`,
		"embedded":                  `the title "embedded" does not begin with the word embed`,
		"body embed":                `the title "body embed" does not begin with the word embed`,
		"embed Body":                `the title says "Body": after embed there can be body, doc, hl=name and context=2`,
		"embed hl":                  `the title says "hl"`,
		"embed hl=":                 `the title says "hl="`,
		"embed body=1":              `the title says "body=1"`,
		"embed embed":               "the title says embed twice",
		"embed body body":           "the title says body twice",
		"embed hl=a hl=a":           "the title says hl=a twice",
		"embed context=1 context=2": "the title says context twice",
		"embed context=0":           "context=0: write a number of lines from 1 to 50",
		"embed context=-1":          "context=-1: write a number",
		"embed context=99":          "context=99: write a number",
		"embed context":             `the title says "context"`,
		"embed body doc":            "choose one of them",
	} {
		_, err := source.ParseModifiers(title)
		require.ErrorContains(t, err, want, title)
	}
}

const modified = `package x

// F does it.
// It does it well.
func F(n int) {
	if n > 0 {
		println(n, nn)
	}

	// before the end
	println(` + "`raw\n\tn\nend`" + `)
}

func G() { println(1) }

func H() { // with a reason
	println(2)
	println(3) }
`

func TestCut_TheDocCommentComesOnlyWithDoc(t *testing.T) {
	cut := oneFile(t, "x.go", modified)
	snippet, err := cut("G", "embed")
	require.Equal(t, "func G() { println(1) }\n", code(t, snippet, err))
	snippet, err = cut("F", "embed")
	require.Equal(t, 5, snippet.StartLine)
	require.NotContains(t, code(t, snippet, err), "It does it well")
	snippet, err = cut("F", "embed doc")
	require.Equal(t, 3, snippet.StartLine)
	require.Contains(t, code(t, snippet, err), "// It does it well.\nfunc F")
	_, err = cut("G", "embed doc")
	require.EqualError(t, err, "G of x.go has no doc comment: leave doc out, or write one")
}

func TestCut_BodyIsWhatTheBracesHoldOutdented(t *testing.T) {
	cut := oneFile(t, "x.go", modified)
	snippet, err := cut("F", "embed body")
	require.Equal(t, "if n > 0 {\n\tprintln(n, nn)\n}\n\n// before the end\nprintln(`raw\n\tn\nend`)\n", code(t, snippet, err),
		"a raw string's lines keep their blanks and do not stop the others from moving")
	require.Equal(t, 6, snippet.StartLine)
	require.Equal(t, 13, snippet.EndLine)

	snippet, err = cut("G", "embed body")
	require.Equal(t, "println(1)\n", code(t, snippet, err))
	snippet, err = cut("H", "embed body")
	require.Equal(t, "// with a reason\nprintln(2)\nprintln(3)\n", code(t, snippet, err))
}

func TestCut_ModifiersWithNothingToApplyToAreErrors(t *testing.T) {
	text := modified + "\ntype T int\n\n//docgen:begin r\nvar V int\n\n//docgen:end r\n\nfunc asm()\n"
	cut := oneFile(t, "x.go", text)
	for _, link := range [][2]string{
		{"", "embed body"}, {"", "embed doc"}, {"", "embed context=1"}, {"T", "embed body"}, {"asm", "embed body"},
		{"V", "embed doc"}, {"region:r", "embed body"}, {"region:r", "embed doc"}, {"T", "embed hl=Missing"}, {"T", "embed hl=typ"},
	} {
		_, err := cut(link[0], link[1])
		require.Error(t, err, link)
	}
	_, err := cut("F", "embed hl=n hl=nope")
	require.EqualError(t, err, "hl=nope: nope does not occur in F of x.go: correct it, or take it out")
}

func TestCut_ContextIsClippedAtTheFilesEndsAndDoesNotCountMarkers(t *testing.T) {
	cut := oneFile(t, "x.go", "package x\n\n//docgen:begin a\nvar A = 1\nvar B = 2\nvar C = 3\n\n//docgen:end a\n\nvar D = 4\nvar E = 5\n")
	snippet, err := cut("A", "embed context=1")
	require.Equal(t, "var A = 1\nvar B = 2\n", code(t, snippet, err), "blank lines at the edges are not shown")
	snippet, err = cut("A", "embed context=2")
	require.Equal(t, "package x\n\nvar A = 1\nvar B = 2\nvar C = 3\n", code(t, snippet, err))
	require.Equal(t, 1, snippet.StartLine)
	snippet, err = cut("C", "embed context=50")
	require.Equal(t, "package x\n\nvar A = 1\nvar B = 2\nvar C = 3\n\nvar D = 4\nvar E = 5\n", code(t, snippet, err),
		"two blank lines that only a marker kept apart become one")
	require.Equal(t, 11, snippet.EndLine)

	cut = oneFile(t, "x.go", "package x\n\nvar A = 1\n\n//docgen:begin a\n//docgen:begin b\nvar B = 2\n\n//docgen:end b\n//docgen:end a\n")
	snippet, err = cut("A", "embed context=2")
	require.Equal(t, "package x\n\nvar A = 1\n\nvar B = 2\n", code(t, snippet, err))

	snippet, err = oneFile(t, "x.go", modified)("H", "embed body context=1")
	require.Equal(t, "func H() { // with a reason\n\tprintln(2)\n\tprintln(3) }\n", code(t, snippet, err))
}

func TestCut_HighlightMarksLinesWithTheWordAndNotWithALongerOne(t *testing.T) {
	cut := oneFile(t, "x.go", modified)
	for title, want := range map[string][]int{
		"embed hl=n":            {1, 2, 3, 8},
		"embed hl=nn":           {3},
		"embed hl=nn hl=if":     {2, 3},
		"embed hl=raw":          {7},
		"embed hl=println(n,":   {3},
		"embed hl=>":            {2},
		"embed body hl=nn":      {2},
		"embed doc hl=well":     {2},
		"embed context=1 hl=nn": {4},
	} {
		snippet, err := cut("F", title)
		require.NoError(t, err, title)
		require.Equal(t, want, snippet.Marked, title)
	}
}
