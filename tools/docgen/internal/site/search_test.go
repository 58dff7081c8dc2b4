package site_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/site"
)

const searchLimit = 150 << 10

// searchIndex is search.json, as assets/search.js reads it.
type searchIndex struct {
	Articles [][2]string
	Sections [][]any
	Terms    string
	Places   string
}

func readIndex(t testing.TB, bk *book.Book) searchIndex {
	t.Helper()
	var x searchIndex
	require.NoError(t, json.Unmarshal(build(t, address, bk)["search.json"], &x))
	return x
}

// find returns the sections of a term: file#fragment, with the level.
func (x searchIndex) find(t testing.TB, term string) map[string]int {
	t.Helper()
	found := map[string]int{}
	i := slices.Index(strings.Fields(x.Terms), term)
	if i < 0 {
		return found
	}
	section, level, high := 0, 0, 0
	for _, r := range strings.Split(x.Places, " ")[i] {
		switch {
		case strings.ContainsRune("-+*", r):
			level = strings.IndexRune("-+*", r) + 1
		case r >= '0' && r <= '9':
			high = high*10 + int(r-'0')
		default:
			section += high*26 + int(r-'a')
			s := x.Sections[section]
			found[x.Articles[int(s[0].(float64))][0]+"#"+s[1].(string)] = level
			level, high = 0, 0
		}
	}
	return found
}

func TestSearch_FindsSectionsByTheWordsOfHeadingsTextAndClaims(t *testing.T) {
	x := readIndex(t, newBook(t))
	require.Contains(t, x.find(t, "renew"), "030-leases.html#renewing", "a heading")
	require.Contains(t, x.find(t, "releas"), "023-locks.html#", "the text before the first heading")
	require.Contains(t, x.find(t, "nightly"), "023-locks.html#taking-a-lock", "a table")
	require.Contains(t, x.find(t, "paus"), "030-leases.html#renewing", "what an embed claims")
	require.Contains(t, x.find(t, "redi"), "030-leases.html#renewing", "a part of a test's name")
	require.Contains(t, x.find(t, "fenc"), "030-leases.html#renewing", "a part of a name, without its ending")
	require.Contains(t, x.find(t, "stor"), "030-leases.html#picture", "what a diagram shows")
	require.Empty(t, x.find(t, "the"), "it says nothing")
}

func TestSearch_FindsSectionsByTheTopicsThatTheyCover(t *testing.T) {
	bk := newBook(t)
	require.Contains(t, readIndex(t, bk).find(t, "heartbeat"), "030-leases.html#renewing")
	require.NotContains(t, strings.Fields(readIndex(t, bk).Terms), "paxo", "what is left out is nowhere")
	bk.Topics = nil
	require.Empty(t, readIndex(t, bk).find(t, "heartbeat"))
}

func TestSearch_FindsSectionsThatAreFarApart(t *testing.T) {
	var text strings.Builder
	for n := range 90 {
		fmt.Fprintf(&text, "## Part %d\n\n%s\n\n", n, map[bool]string{true: "zebra", false: "horse"}[n%29 == 0])
	}
	x := readIndex(t, &book.Book{Articles: []*book.Article{newArticle(t, "001-x", "X", text.String(), nil)}})
	require.ElementsMatch(t, []string{"001-x.html#part-0", "001-x.html#part-29", "001-x.html#part-58", "001-x.html#part-87"},
		slices.Collect(maps.Keys(x.find(t, "zebra"))))
}

func TestSearch_AHeadingSaysMoreThanTheText(t *testing.T) {
	x := readIndex(t, &book.Book{Articles: []*book.Article{newArticle(t, "001-x", "X",
		"## Heartbeats\n\nSome text of a few words.\n\n## Another\n\nSome text, and a heartbeat.\n", nil)}})
	found := x.find(t, "heartbeat")
	require.Greater(t, found["001-x.html#heartbeats"], found["001-x.html#another"])
}

func TestSearch_ShowsHowASectionBegins(t *testing.T) {
	x := readIndex(t, newBook(t))
	at := slices.IndexFunc(x.Sections, func(s []any) bool { return s[1] == "" && s[0] == 1.0 })
	require.Equal(t, "What leases with fencing tokens is for.", x.Sections[at][3])
	long := strings.Repeat("word ", 40)
	x = readIndex(t, &book.Book{Articles: []*book.Article{newArticle(t, "001-x", "X", "## A\n\n"+long+"\n", nil)}})
	require.Regexp(t, `^(word )+word…$`, x.Sections[1][3])
	require.Less(t, len(x.Sections[1][3].(string)), 140)
}

// D9: fifty articles stay within the budget, and what makes a section stand out
// is found all the same.
func TestSearch_StaysWithinItsBudgetWithFiftyArticles(t *testing.T) {
	bk := longBook(t, ourShape(50), newVocabulary(12000))
	files := build(t, address, bk)
	require.LessOrEqual(t, zipped(t, files["search.json"]), searchLimit)
	var x searchIndex
	require.NoError(t, json.Unmarshal(files["search.json"], &x))
	require.Len(t, x.Sections, 50*39)
	require.Len(t, x.Sections[1], 3, "it goes without excerpts")
	terms := strings.Fields(x.Terms)
	for _, a := range bk.Articles {
		for _, h := range a.Headings {
			word := strings.TrimSuffix(strings.Fields(h.Text)[0], "e")
			require.True(t, slices.ContainsFunc(terms, func(term string) bool { return strings.HasPrefix(term, word) }), h.Text)
		}
	}
	t.Logf("%d KB zipped, %d terms", zipped(t, files["search.json"])>>10, len(terms))
}

func TestSearch_TooLargeAnIndexIsAnErrorThatSaysSo(t *testing.T) {
	_, err := site.New(options(t, address)).Build(longBook(t, shape{60, 100, 6000}, newVocabulary(1<<40)))
	require.ErrorContains(t, err, "search.json: the search index of 6060 sections is over 150 KB even with 30 words of each")
}

func TestSearch_AWordsEndingDoesNotMatter(t *testing.T) {
	terms := func(text string) []string {
		a := newArticle(t, "001-q", "Q", text+"\n", nil)
		a.Summary, a.Concepts = "", nil
		return slices.DeleteFunc(strings.Fields(readIndex(t, &book.Book{Articles: []*book.Article{a}}).Terms),
			func(term string) bool { return term == "q" })
	}
	for _, words := range []struct{ text, stem string }{
		{"fence fences fenced fencing", "fenc"},
		{"lock locks locked locking", "lock"},
		{"release releases released releasing", "releas"},
		{"process processes", "process"},
		{"key keys Keys", "key"},
		{"string strings", "string"},
	} {
		require.Equal(t, []string{words.stem}, terms(words.text), words.text)
	}
	require.Equal(t, []string{"hold", "holdatleast", "least"}, terms("HoldAtLeast"))
}
