package site_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark/ast"
	"golang.org/x/net/html"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

// figureOf renders an article of one node, and returns its figure.
func figureOf(t testing.TB, n ast.Node) *html.Node {
	t.Helper()
	bk := &book.Book{Articles: []*book.Article{newArticle(t, "001-x", "X", "{n}\n", nodes{"n": n})}}
	page := pageOf(t, bk, "001-x.html")
	for n := range page.Descendants() {
		if n.Data == "figure" {
			return n
		}
	}
	require.FailNow(t, "there is no figure")
	return nil
}

// copiedFrom is what the nth button of a figure copies: see assets/site.js.
func copiedFrom(t testing.TB, figure *html.Node, n int) string {
	t.Helper()
	var buttons, code []*html.Node
	for d := range figure.Descendants() {
		for _, a := range d.Attr {
			switch a.Key {
			case "data-copy":
				buttons = append(buttons, d)
			case "data-code":
				code = append(code, d)
			}
		}
	}
	require.Greater(t, len(buttons), n)
	for up := buttons[n].Parent; ; up = up.Parent {
		if attr(up, "class") == "run" || up.Data == "figure" {
			for _, c := range code {
				for p := c; p != nil; p = p.Parent {
					if p == up {
						return textOf(c)
					}
				}
			}
		}
	}
}

// D11: copying gives the bytes of the file.
func TestEmbed_CopyGivesTheBytesOfTheCode(t *testing.T) {
	for _, code := range []string{fencedCode, "\n\tx := \"&amp;\" // <b>\n", "s := `a\n\n\tb`\n", "func Äö() {}\n"} {
		figure := figureOf(t, embedOf("TestX", code, nil))
		require.Equal(t, code, copiedFrom(t, figure, 0))
		require.Equal(t, "go test -run '^TestX$' ./samples/030-leases", copiedFrom(t, figure, 1))
	}
}

func TestEmbed_CaptionSaysWhatItShowsAndWhereItIs(t *testing.T) {
	figure := figureOf(t, embedOf("TestX", fencedCode, nil))
	require.Equal(t, "TestX", attr(figure, "id"))
	require.Equal(t, "A paused leader is fenced", words(byClass(t, figure, "claim")))
	origin := byClass(t, figure, "origin")
	require.Equal(t, "samples/030-leases/lease_store_test.go · TestX", words(origin))
	require.Equal(t, []string{repo + "/blob/" + rev + "/samples/030-leases/lease_store_test.go#L10-L30"}, references(origin))
	region := embedOf("region:renew", "x()\n", nil)
	require.Contains(t, words(byClass(t, figureOf(t, region), "origin")), "lease_store_test.go · renew")
}

// D12: what scrolls can be reached by keyboard, and says what it is.
func TestEmbed_CodeScrollsInARegionWithAName(t *testing.T) {
	pre := byClass(t, figureOf(t, embedOf("TestX", fencedCode, nil)), "scroll")
	require.Equal(t, "0", attr(pre, "tabindex"))
	require.Equal(t, "region", attr(pre, "role"))
	require.Equal(t, "Code: TestX", attr(pre, "aria-label"))
}

func TestEmbed_BadgeIsGreenOnlyIfTheTestRanAndPassed(t *testing.T) {
	for _, c := range []struct {
		result      *results.Result
		class, text string
	}{
		{&results.Result{Status: results.Passed}, "passed", "passed"},
		{&results.Result{Status: results.Failed}, "failed", "failed"},
		{&results.Result{Status: results.Skipped, Why: "no Redis here"}, "skipped", "skipped: no Redis here"},
		{&results.Result{Status: results.Skipped, Why: "no Redis here:\nset URL, or install one"}, "skipped", "skipped: no Redis here"},
		{&results.Result{Status: results.Skipped}, "skipped", "skipped"},
		{&results.Result{Status: results.NotRun}, "notrun", "not run"},
		{&results.Result{}, "notrun", "not run"},
		{nil, "notrun", "not run"},
	} {
		badge := byClass(t, figureOf(t, embedOf("TestX", "x\n", c.result)), "badge")
		require.Equal(t, "badge "+c.class, attr(badge, "class"))
		require.Equal(t, c.text, words(badge))
	}
	noTest := embedOf("LockKey", "x\n", nil)
	noTest.Command = ""
	require.Empty(t, allByClass(figureOf(t, noTest), "badge"), "no test has no result")
}

func TestEmbed_OutputIsFolded(t *testing.T) {
	figure := figureOf(t, embedOf("TestX", "x\n", &results.Result{Status: results.Passed, Output: fencedOutput}))
	printed := byClass(t, figure, "printed")
	require.Equal(t, "details", printed.Data)
	require.Contains(t, textOf(printed), fencedOutput)
	require.Empty(t, allByClass(figureOf(t, embedOf("TestX", "x\n", &results.Result{Status: results.Passed})), "printed"))
}

func TestEmbed_AWholeFileIsFoldedAndCanBeCopied(t *testing.T) {
	whole := embedOf("", "a\nb\n", nil)
	whole.Command, whole.Folded = "", true
	figure := figureOf(t, whole)
	require.Contains(t, words(byClass(t, figure, "folded")), "Show the file, 2 lines")
	require.Equal(t, "a\nb\n", copiedFrom(t, figure, 0))
}

func TestCode_SaysWhatItIsAndWhetherItWasTested(t *testing.T) {
	for _, c := range []struct {
		code    *book.Code
		class   string
		caption string
		copies  bool
	}{
		{&book.Code{Lang: "sh", Body: "make demo\n", Run: true}, "code command", "", true},
		{&book.Code{Lang: "text", Body: "A acquires\n", Output: true}, "code output", "Output", false},
		{&book.Code{Lang: "text", Body: "A --- B\n"}, "code text", "", false},
		{&book.Code{Lang: "go", Body: "x := 1\n", Sketch: true}, "code sketch", "Sketch: it illustrates, and is not compiled or tested", true},
		{&book.Code{Lang: "sql", Body: "SELECT 1\n"}, "code listing", "SQL", true},
		{&book.Code{Lang: "proto", Body: "message X {}\n"}, "code listing", "proto", true},
	} {
		figure := figureOf(t, c.code)
		require.Equal(t, c.class, attr(figure, "class"))
		if c.caption != "" {
			require.Equal(t, c.caption, words(byClass(t, figure, "kind")))
		}
		if c.copies {
			require.Equal(t, c.code.Body, copiedFrom(t, figure, 0))
		} else {
			require.Empty(t, allByClass(figure, "copy"))
		}
	}
}

func TestCode_IndentedBlocksScrollAsFencedOnesDo(t *testing.T) {
	bk := &book.Book{Articles: []*book.Article{newArticle(t, "001-x", "X", "Text:\n\n    indented\n", nil)}}
	page := pageOf(t, bk, "001-x.html")
	require.Equal(t, "indented\n", textOf(byClass(t, page, "scroll")))
}

func TestDiagram_HasItsWordsAndScrollsWhereItIsTooWide(t *testing.T) {
	d := &book.Diagram{SVG: drawing, Title: "Who may write", Description: "A leader asks."}
	figure := figureOf(t, d)
	require.Equal(t, "diagram", attr(figure, "class"))
	require.Equal(t, "Diagram: Who may write", attr(byClass(t, figure, "scroll"), "aria-label"))
	require.Equal(t, "0", attr(byClass(t, figure, "scroll"), "tabindex"))
	require.Contains(t, words(byClass(t, figure, "words")), "A leader asks.")
	wide := &book.Diagram{SVG: strings.Replace(drawing, `width="620"`, `width="1620.5"`, 1), Title: "Wide"}
	require.Equal(t, "diagram wide", attr(figureOf(t, wide), "class"))
}

func TestTable_ScrollsInARegionThatItsColumnsName(t *testing.T) {
	table := byClass(t, pageOf(t, newBook(t), "023-locks.html"), "table")
	require.Equal(t, "Table: What happens, Look at, Cost", attr(table, "aria-label"))
	require.Equal(t, "0", attr(table, "tabindex"))
	require.Equal(t, "region", attr(table, "role"))
}

func TestHeading_LinkStandsBesideItAndHasAName(t *testing.T) {
	page := pageOf(t, newBook(t), "023-locks.html")
	h := byID(t, page, "what-it-does-not-do")
	require.Equal(t, "What it does not do", words(h), "the link is no part of it")
	link := h.NextSibling
	require.Equal(t, "#what-it-does-not-do", attr(link, "href"))
	require.Equal(t, "Link to: What it does not do", attr(link, "aria-label"))
}

func TestAlert_IsANoteWithItsKind(t *testing.T) {
	alert := byClass(t, pageOf(t, newBook(t), "023-locks.html"), "alert")
	require.Equal(t, "alert warning", attr(alert, "class"))
	require.Equal(t, "note", attr(alert, "role"))
	require.Equal(t, "Warning A lock does not protect data.", words(alert))
}

func TestFootnote_LeadsBackWithAName(t *testing.T) {
	page := pageOf(t, newBook(t), "023-locks.html")
	require.Contains(t, words(byClass(t, page, "footnotes")), "Or until its session ends.")
	require.Contains(t, words(byClass(t, page, "footnote-backref")), "Back to the text")
}
