package highlight_test

import (
	"bytes"
	"html"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/highlight"
)

// tags are all that the package may write beside text.
var tags = regexp.MustCompile(`<span class="[a-z]">|</span>|<mark class="hl">|</mark>`)

// checkHTML wants the text of the HTML to be the code, its tags to nest, and
// exactly the marked lines to be in marks.
func checkHTML(t *testing.T, code string, got []byte, marked []int) {
	t.Helper()
	var (
		text strings.Builder
		open []string
	)
	inMark := map[int]bool{} // by line
	line := 1
	write := func(piece string) {
		piece = html.UnescapeString(piece)
		for _, r := range []byte(piece) {
			if slices.Contains(open, "mark") {
				inMark[line] = true
			}
			if r == '\n' {
				line++
			}
		}
		text.WriteString(piece)
	}
	rest := string(got)
	for rest != "" {
		at := tags.FindStringIndex(rest)
		if at == nil {
			write(rest)
			break
		}
		write(rest[:at[0]])
		switch tag := rest[at[0]:at[1]]; {
		case !strings.HasPrefix(tag, "</"):
			name := regexp.MustCompile(`[a-z]+`).FindString(tag)
			require.False(t, name == "span" && slices.Contains(open, "span"), "a span in a span")
			require.False(t, name == "mark" && len(open) > 0, "a mark in another element: %q", got)
			open = append(open, name)
		default:
			require.NotEmpty(t, open)
			require.Equal(t, "</"+open[len(open)-1]+">", tag, "tags that do not nest: %q", got)
			open = open[:len(open)-1]
		}
		rest = rest[at[1]:]
	}
	require.Empty(t, open, "an element is not closed: %q", got)
	require.Equal(t, code, text.String(), "the text of the HTML is the code")
	plain := tags.ReplaceAllString(string(got), "")
	require.NotContains(t, plain, "<")
	want := map[int]bool{}
	for _, n := range marked {
		if n >= 1 && n <= strings.Count(code, "\n")+1 && len(strings.SplitAfter(code, "\n")[n-1]) > 0 {
			want[n] = true
		}
	}
	require.Equal(t, want, inMark, "the marked lines: %q", got)
}

func TestGo_ClassesOfTokens(t *testing.T) {
	for code, want := range map[string]string{
		"func F(n int) error {": `<span class="k">func</span> <span class="f">F</span>(n <span class="t">int</span>) <span class="t">error</span> {`,
		"func Map[K any]() {}":  `<span class="k">func</span> <span class="f">Map</span>[K <span class="t">any</span>]() {}`,
		"func (s *S) M() {}":    `<span class="k">func</span> (s *S) <span class="f">M</span>() {}`,
		"x := a.b(c) // d < e":  `x := a.<span class="f">b</span>(c) <span class="c">// d &lt; e</span>`,
		"len(x.len, y.nil)":     `<span class="t">len</span>(x.len, y.nil)`,
		"1 + 0x2p3 - 4i":        `<span class="n">1</span> + <span class="n">0x2p3</span> - <span class="n">4i</span>`,
		"'a', \"b&c\", `d`":     "<span class=\"s\">'a'</span>, <span class=\"s\">\"b&amp;c\"</span>, <span class=\"s\">`d`</span>",
		"f\n(a)":                "f\n(a)", // a line's end ends the statement
		"return nil":            `<span class="k">return</span> <span class="t">nil</span>`,
		"é(ö)":                  `<span class="f">é</span>(ö)`,
	} {
		require.Equal(t, want, string(highlight.Go([]byte(code), nil)))
	}
}

func TestGo_FromAnErrorOnTheRestIsPlain(t *testing.T) {
	for code, want := range map[string]string{
		"if x {\n// don't\ndon't if": "<span class=\"k\">if</span> x {\n<span class=\"c\">// don't</span>\ndon't if",
		"return \"open\nreturn":      "<span class=\"k\">return</span> \"open\nreturn",
		"return `open\nreturn":       "<span class=\"k\">return</span> `open\nreturn",
		"return /* open\nreturn":     "<span class=\"k\">return</span> /* open\nreturn",
		"}\n\nfunc F(":               "}\n\n<span class=\"k\">func</span> <span class=\"f\">F</span>(",
		"return \x00 return":         "<span class=\"k\">return</span> \x00 return",
		"return \xff return":         "<span class=\"k\">return</span> \xff return",
		"if \"\\q\" == if":           "<span class=\"k\">if</span> \"\\q\" == if",
		"":                           "",
		"\n":                         "\n",
		"f":                          "f",
		"\"a\r\nb\"":                 "\"a\r\nb\"",
	} {
		require.Equal(t, want, string(highlight.Go([]byte(code), nil)), "%q", code)
	}
}

func TestGo_MarksDoNotBreakCommentsAndRawStrings(t *testing.T) {
	code := "a()\n/* one\ntwo\nthree */\nb(`x\ny`)\n"
	got := string(highlight.Go([]byte(code), []int{2, 3, 5}))
	require.Equal(t, `<span class="f">a</span>()
<mark class="hl"><span class="c">/* one
two
</span></mark><span class="c">three */</span>
<mark class="hl"><span class="f">b</span>(<span class="s">`+"`x\n</span></mark><span class=\"s\">y`"+`</span>)
`, got)
	checkHTML(t, code, []byte(got), []int{2, 3, 5})

	for _, marked := range [][]int{{1}, {6}, {1, 2, 3, 4, 5, 6}, {3, 1}, {1, 1}, {7}, {99}, {0, -1}} {
		checkHTML(t, code, highlight.Go([]byte(code), marked), marked)
		checkHTML(t, strings.TrimSpace(code), highlight.Go([]byte(strings.TrimSpace(code)), marked), marked)
	}
}

// TestGo_TheTextIsTheCodeWhereverItIsCut is a property: of a real file, cut
// anywhere and marked anywhere.
func TestGo_TheTextIsTheCodeWhereverItIsCut(t *testing.T) {
	file, err := os.ReadFile("highlight_test.go")
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		from := random.IntN(len(file))
		piece := file[from : from+random.IntN(len(file)-from)]
		var marked []int
		for range random.IntN(5) {
			marked = append(marked, 1+random.IntN(1+bytes.Count(piece, []byte("\n"))))
		}
		checkHTML(t, string(piece), highlight.Go(piece, marked), marked)
	}
}

func FuzzGo_TheTextIsTheCode(f *testing.F) {
	f.Add([]byte("func F() {}\n"), 1)
	f.Add([]byte("/* a\nb */ `c\nd` 'e' \"f\""), 2)
	f.Add([]byte("a\r\n`b\r\nc`\r\n// d\r\n\x00\xff<&>"), 3)
	f.Add([]byte("\uFEFF//line x:1\n0x 1e '\\x' #"), 1)
	f.Fuzz(func(t *testing.T, code []byte, marked int) {
		checkHTML(t, string(code), highlight.Go(code, []int{marked, marked + 1}), []int{marked, marked + 1})
	})
}
