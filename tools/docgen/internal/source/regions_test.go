package source_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

const marked = `package x

//docgen:begin two

// F is the first.
func F() {
	//docgen:begin in
	a := 1
	//docgen:begin deep
	b := 2
	//docgen:end deep

	//docgen:end in

	c("//docgen:begin string", ` + "`\n//docgen:begin raw\n`" + `)
}

func (t *T) M() {}

//docgen:end two

var table = []string{
	//docgen:begin rows
	"a",
	//docgen:end rows
	"b",
}
`

func TestRegions_AreFoundWithWhereTheyAre(t *testing.T) {
	tree := newTree(t, map[string]string{"x.go": marked})
	regions, findings := tree.Regions("x.go")
	require.Empty(t, findings)
	require.Equal(t, []source.Region{
		{Name: "two", Line: 3, End: 22},
		{Name: "in", Line: 7, End: 13, In: "F"},
		{Name: "deep", Line: 9, End: 11, In: "F"},
		{Name: "rows", Line: 25, End: 27},
	}, regions)
}

func TestCut_MarkersNeverReachASnippet(t *testing.T) {
	cut := oneFile(t, "x.go", marked)
	for selector, want := range map[string]string{
		"region:in":   "a := 1\nb := 2\n",
		"region:deep": "b := 2\n",
		"region:rows": "\"a\",\n",
		"table":       "var table = []string{\n\t\"a\",\n\t\"b\",\n}\n",
		"F":           "func F() {\n\ta := 1\n\tb := 2\n\n\tc(\"//docgen:begin string\", `\n//docgen:begin raw\n`)\n}\n",
	} {
		snippet, err := cut(selector, "embed")
		require.Equal(t, want, code(t, snippet, err), selector)
	}
	snippet, err := cut("region:two", "embed")
	require.True(t, strings.HasPrefix(code(t, snippet, err), "// F is the first.\nfunc F() {\n\ta := 1\n"))
	require.True(t, strings.HasSuffix(string(snippet.Code), "func (t *T) M() {}\n"))
	require.Equal(t, 5, snippet.StartLine)
	require.Equal(t, 20, snippet.EndLine)
	_, err = cut("region:string", "embed")
	require.ErrorContains(t, err, "no region string", "a string is not a marker")
}

func TestRegions_WhatIsWrongWithMarkersIsAFinding(t *testing.T) {
	for lines, want := range map[string][]string{
		"//docgen:begin a": {"5:2: region a never ends: add a docgen:end a, or correct its name"},
		"//docgen:end a":   {"5:2: region a ends here and never began: add a docgen:begin a, or correct its name"},
		"//docgen:begin a|x()|//docgen:end b": {
			"5:2: region a never ends", "7:2: region b ends here and never began"},
		"//docgen:begin a|x()|//docgen:end a|//docgen:begin a|x()|//docgen:end a": {
			"8:2: region a is there already, from line 5 on: give this one another name"},
		"//docgen:begin a|//docgen:begin b|x()|//docgen:end a|//docgen:end b": {
			"8:2: region a ends while b, which began in it at line 6, is still open: end b first"},
		"//docgen:begin a|if x() {|//docgen:end a|}": {
			"7:2: region a began at line 5 in another block: put both markers between the same braces"},
		"x()|//docgen:begin a|}|func G() {|//docgen:end a": {
			"9:2: region a began at line 6 in another block"},
		"//docgen:begin a|f(|//docgen:end a|)": {"7:2: region a began at line 5 in another block"},
		"// docgen:begin a":                    {"5:2: // docgen:begin a is not a marker: write //docgen:begin name or //docgen:end name"},
		"//docgen:start a":                     {"5:2: //docgen:start a is not a marker"},
		"//docgen:begin":                       {"5:2: //docgen:begin is not a marker"},
		"//docgen:begin a b":                   {"5:2: //docgen:begin a b is not a marker"},
		"/*docgen:begin a*/":                   {"5:2: /*docgen:begin a*/ is not a marker"},
		"x() //docgen:begin a":                 {"5:6: a marker shares its line with code: give it a line of its own"},
		"// see docgen:begin in the README":    nil,
		"// docgen: a tool":                    nil,
	} {
		text := "package x\n\n//\nfunc F() {\n\t" + strings.ReplaceAll(lines, "|", "\n\t") + "\n}\n"
		tree := newTree(t, map[string]string{"x.go": text})
		regions, findings := tree.Regions("x.go")
		require.Len(t, findings, len(want), "%s: %v", lines, findings)
		for i, f := range findings {
			require.Contains(t, f.String(), "x.go:"+want[i])
		}
		for _, r := range regions {
			require.NotEqual(t, "a", r.Name, "a faulty region is none")
		}
		_, err := tree.Cut("x.go", "F", source.Modifiers{})
		if want == nil {
			require.NoError(t, err)
		} else if !strings.Contains(lines, "func G") {
			require.ErrorContains(t, err, "a region marker in it is wrong", lines)
			_, err = tree.Cut("x.go", "region:a", source.Modifiers{})
			require.Error(t, err, lines)
		}
	}
}

func TestRegions_OfAFileThatCannotBeReadAreAFinding(t *testing.T) {
	tree := newTree(t, map[string]string{"x.go": "package x\n\nfunc {\n"})
	_, findings := tree.Regions("x.go")
	require.Len(t, findings, 1)
	require.Contains(t, findings[0].String(), "x.go:3:6: expected 'IDENT'")
	_, findings = tree.Regions("y.go")
	require.Len(t, findings, 1)
	require.Equal(t, "y.go:1:1: y.go does not exist", findings[0].String())
}

func TestRegions_OfOtherLanguagesUseTheirComments(t *testing.T) {
	tree := newTree(t, map[string]string{
		"x.sql":    "SELECT 0;\n--docgen:begin a\n  SELECT 1;\n    SELECT 2;\n--docgen:end a\n",
		"x.sh":     "  #docgen:begin a\n  ls # docgen:begin b\n  #docgen:end a\n",
		"x.html":   "<!--docgen:begin a-->\n<p>\n<!--docgen:end a -->\n",
		"x.proto":  "//docgen:begin a\nmessage M {}\n//docgen:end a\n",
		"Makefile": "#docgen:begin a\ntest:\n\tgo test\n#docgen:end a\n",
	})
	for name, want := range map[string][2]string{
		"x.sql": {"sql", "SELECT 1;\n  SELECT 2;\n"}, "x.sh": {"sh", "ls # docgen:begin b\n"}, "x.html": {"html", "<p>\n"},
		"x.proto": {"proto", "message M {}\n"}, "Makefile": {"make", "test:\n\tgo test\n"},
	} {
		_, findings := tree.Regions(name)
		require.Empty(t, findings, name)
		snippet, err := tree.Cut(name, "region:a", source.Modifiers{})
		require.Equal(t, want[1], code(t, snippet, err), name)
		require.Equal(t, want[0], snippet.Lang)
	}
	tree = newTree(t, map[string]string{"README.md": "# docgen: what it does\n<!-- docgen:begin samples -->\nlist\n<!-- docgen:end samples -->\n"})
	regions, findings := tree.Regions("README.md")
	require.Empty(t, findings, "these are for docgen gen")
	require.Empty(t, regions)

	tree = newTree(t, map[string]string{"x.sql": "  -- docgen:begin a\nSELECT 1;\n"})
	_, findings = tree.Regions("x.sql")
	require.Len(t, findings, 1)
	require.Equal(t, "x.sql:1:3: -- docgen:begin a is not a marker: write --docgen:begin name or --docgen:end name", findings[0].String())
}
