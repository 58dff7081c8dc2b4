package site_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
	"github.com/relay-samples/relay-go/tools/docgen/internal/site"
)

// pageOf builds the book and parses one of its pages.
func pageOf(t testing.TB, bk *book.Book, name string) *html.Node {
	t.Helper()
	content, ok := build(t, address, bk)[name]
	require.True(t, ok, "there is no %s", name)
	return parseHTML(t, content)
}

func TestArticle_SaysWhatItIsBeforeItBegins(t *testing.T) {
	page := pageOf(t, newBook(t), "030-leases.html")
	require.Equal(t, "Home Coordination Leases with fencing tokens", words(byClass(t, page, "crumbs")))
	require.Equal(t, "What leases with fencing tokens is for.", words(byClass(t, page, "summary")))
	facts := words(byClass(t, page, "facts"))
	require.Equal(t, "Samplesamples/030-leases Levelintermediate Reading7 minutes NeedsGo Read firstDistributed locks Tests3 passed", facts)
	promise := words(byClass(t, page, "promise"))
	require.Contains(t, promise, "What you will learn")
	require.Contains(t, promise, "tell Lock from Lease")
	require.Contains(t, promise, "What you should know already")
	require.Contains(t, words(byClass(t, page, "concepts")), "lock · fencing token")
	require.Contains(t, references(page), repo+"/tree/"+rev+"/samples/030-leases")
	require.Contains(t, references(page), repo+"/edit/main/articles/030-leases.md")
}

func TestArticle_PromisesAreMarkdownWithoutBlocks(t *testing.T) {
	bk := newBook(t)
	bk.Articles[0].Learn = []string{"1. `a < b`, *really*, see [there](030-leases.html)"}
	page := string(build(t, address, bk)["023-locks.html"])
	require.Contains(t, page, `<li>1. <code>a &lt; b</code>, <em>really</em>, see <a href="030-leases.html">there</a></li>`)
}

func TestArticle_TellsItsNeighboursInTheOrderOfTheIndex(t *testing.T) {
	page := pageOf(t, newBook(t), "030-leases.html")
	require.Equal(t, "Previous Distributed locks", words(byClass(t, page, "previous")))
	require.Equal(t, "Next Rate limits", words(byClass(t, page, "next")))
	first := pageOf(t, newBook(t), "023-locks.html")
	require.Empty(t, allByClass(first, "previous"))
}

func TestArticle_ContentsAreThereForWideAndForNarrowScreens(t *testing.T) {
	page := pageOf(t, newBook(t), "023-locks.html")
	lists := allByClass(page, "contents")
	require.Len(t, lists, 2)
	for _, list := range lists {
		require.Equal(t, "On this page Taking a lock Without waiting What it does not do",
			strings.Join(strings.Fields(spaced(list)), " "))
	}
	require.Empty(t, allByClass(pageOf(t, newBook(t), "107-bare.html"), "contents"), "nothing to list")
}

// spaced is a text with spaces between its elements.
func spaced(n *html.Node) string {
	var b strings.Builder
	for n := range n.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return b.String()
}

func TestArticle_TestsAreGreenOnlyIfAllRanAndPassed(t *testing.T) {
	for _, c := range []struct {
		tally       results.Tally
		class, text string
	}{
		{results.Tally{Passed: 7}, "passed", "7 passed"},
		{results.Tally{Passed: 7, Skipped: 1}, "skipped", "7 passed, 1 skipped"},
		{results.Tally{Passed: 7, NotRun: 1}, "skipped", "7 passed, 1 not run"},
		{results.Tally{Passed: 7, Failed: 1, Skipped: 2}, "failed", "7 passed, 1 failed, 2 skipped"},
		{results.Tally{Skipped: 2}, "skipped", "2 skipped"},
		{results.Tally{NotRun: 4}, "notrun", "not recorded"},
		{results.Tally{}, "notrun", "not recorded"},
	} {
		bk := newBook(t)
		bk.Articles[2].Tests = c.tally
		badge := byClass(t, pageOf(t, bk, "107-bare.html"), "badge")
		require.Equal(t, "badge "+c.class, attr(badge, "class"), c.text)
		require.Equal(t, c.text, words(badge))
	}
}

func TestArticle_HeadTellsMachinesWhatItIs(t *testing.T) {
	files := build(t, address, newBook(t))
	page := string(files["030-leases.html"])
	for _, want := range []string{
		`<title>Leases with fencing tokens · Relay</title>`,
		`<meta name="description" content="What leases with fencing tokens is for.">`,
		`<link rel="canonical" href="https://relay.example/x/y/030-leases.html">`,
		`<meta property="og:title" content="Leases with fencing tokens">`,
		`<meta property="og:type" content="article">`,
		`<meta property="og:url" content="https://relay.example/x/y/030-leases.html">`,
		`<meta property="og:site_name" content="Relay">`,
		`<link rel="alternate" type="text/markdown" href="030-leases.md">`,
		`<link rel="alternate" type="application/atom+xml" title="Relay" href="feed.xml">`,
	} {
		require.Contains(t, page, want)
	}
	require.Contains(t, string(files["index.html"]), `<link rel="canonical" href="https://relay.example/x/y/">`)
	require.NotContains(t, string(files["404.html"]), "canonical")
	require.Contains(t, string(files["404.html"]), `<meta name="robots" content="noindex">`)
}

// D10: the theme is chosen before anything is painted.
func TestArticle_ThemeIsSetBeforeTheStyleSheet(t *testing.T) {
	page := build(t, address, newBook(t))["023-locks.html"]
	script := bytes.Index(page, []byte(`<script src="assets/theme.`))
	style := bytes.Index(page, []byte(`<link rel="stylesheet"`))
	require.Greater(t, script, 0)
	require.Less(t, script, style)
	require.Less(t, style, bytes.Index(page, []byte("<body>")))
	tag := page[script : script+bytes.IndexByte(page[script:], '>')]
	require.NotContains(t, string(tag), "defer")
	require.NotContains(t, string(tag), "async")
}

func TestArticle_HTMLThatTheBookLetThroughIsAnErrorOfTheArticle(t *testing.T) {
	for _, raw := range []string{"<script>alert(1)</script>\n", "some <b>bold</b> text\n", "<!-- a note -->\n"} {
		_, err := site.New(options(t, address)).Build(&book.Book{Articles: []*book.Article{newArticle(t, "001-x", "X", raw, nil)}})
		require.ErrorContains(t, err, "articles/001-x.md: HTML in an article: <", raw)
	}
}

func TestArticle_PartsMayBeFoldedAway(t *testing.T) {
	bk := &book.Book{Articles: []*book.Article{newArticle(t, "001-x", "X",
		"<details>\n<summary>Solution</summary>\n\nIt is *this*.\n\n</details>\n\n| a | b |\n|---|---|\n| 1<br>2 | 3 |\n", nil)}}
	page := string(build(t, address, bk)["001-x.html"])
	require.Contains(t, page, "<details>\n<summary>Solution</summary>\n<p>It is <em>this</em>.</p>\n</details>")
	require.Contains(t, page, "<td>1<br>2</td>")
}

func TestIndex_ListsTheArticlesInReadingOrder(t *testing.T) {
	bk := newBook(t)
	early := newArticle(t, "001-early", "Early", "Text.\n", nil)
	early.After = []*book.Article{bk.Articles[1]} // it needs what has a higher number
	early.Needs = []string{"postgres", "redis"}
	bk.Articles = slices.Insert(bk.Articles, 0, early)
	page := pageOf(t, bk, "index.html")
	var names []string
	for _, n := range allByClass(page, "name") {
		names = append(names, words(n))
	}
	require.Equal(t, []string{"Distributed locks", "Leases with fencing tokens", "Early", "Rate limits"}, names)
	meta := allByClass(page, "meta")
	require.Equal(t, "intermediate · 7 minutes · needs Go, PostgreSQL, Redis · after Leases with fencing tokens", words(meta[2]))
	require.Contains(t, words(page), "make demo")
	require.Contains(t, words(page), "make test")
}

func TestIndex_ACycleOfPrerequisitesEndsSomewhere(t *testing.T) {
	bk := newBook(t)
	bk.Articles[0].After = []*book.Article{bk.Articles[1]}
	require.NotEmpty(t, build(t, address, bk)["index.html"])
}

func TestTopics_LeadToTheirHeadingAndTheirTest(t *testing.T) {
	page := pageOf(t, newBook(t), "topics.html")
	require.Contains(t, references(page), "023-locks.html#taking-a-lock")
	require.Contains(t, references(page), repo+"/blob/"+rev+"/x_test.go#L1-L2")
	require.Contains(t, words(page), "Left out, and why")
	require.Contains(t, words(page), "Paxos: no reader of ours needs to write it")
}
