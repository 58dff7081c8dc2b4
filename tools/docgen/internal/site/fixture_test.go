package site_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
	"github.com/relay-samples/relay-go/tools/docgen/internal/site"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

const (
	repo = "https://github.com/relay-samples/relay-go"
	rev  = "0123456789abcdef0123456789abcdef01234567"
)

// build renders a book for a site at this address.
func build(t testing.TB, address string, bk *book.Book) map[string][]byte {
	t.Helper()
	files, err := site.New(options(t, address)).Build(bk)
	require.NoError(t, err)
	return files
}

func options(t testing.TB, address string) site.Options {
	t.Helper()
	base, err := url.Parse(address)
	require.NoError(t, err)
	return site.Options{BaseURL: base, Repo: repo, Rev: rev}
}

// nodes are what stands where a paragraph says {name}.
type nodes map[string]ast.Node

// newArticle makes an article as package book does: parsed, with ids, contents
// and nodes in place.
func newArticle(t testing.TB, slug, title, markdown string, in nodes) *book.Article {
	t.Helper()
	a := &book.Article{
		Slug: slug, Path: "articles/" + slug + ".md", Title: title, Number: slug[:3],
		Summary: "What " + strings.ToLower(title) + " is for.", Category: "Coordination", Level: "intermediate",
		Sample: "samples/" + slug, Minutes: 7, EditURL: repo + "/edit/main/articles/" + slug + ".md",
		Learn:    []string{"run a job on *one* instance", "tell `Lock` from `Lease`"},
		Concepts: []string{"lock", "fencing token"},
		Updated:  time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Markdown: []byte("# " + title + "\n\n" + markdown), Source: []byte(markdown),
	}
	a.Doc = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(text.NewReader(a.Source))
	place(t, a, in)
	return a
}

func place(t testing.TB, a *book.Article, in nodes) {
	t.Helper()
	placed := 0
	for n := a.Doc.FirstChild(); n != nil; {
		next := n.NextSibling()
		switch n := n.(type) {
		case *ast.Heading:
			h := book.Heading{Level: n.Level, Text: string(n.Lines().Value(a.Source))}
			h.Text = strings.ReplaceAll(h.Text, "`", "")
			h.ID = strings.ReplaceAll(strings.ToLower(h.Text), " ", "-")
			n.SetAttributeString("id", []byte(h.ID))
			if n.Level < 4 {
				a.Headings = append(a.Headings, h)
			}
		case *ast.Paragraph:
			words := string(n.Lines().Value(a.Source))
			if name, ok := strings.CutPrefix(words, "{"); ok {
				node, ok := in[strings.TrimSuffix(name, "}")]
				require.True(t, ok, "there is no node for %s", words)
				a.Doc.ReplaceChild(a.Doc, n, node)
				placed++
			}
		}
		n = next
	}
	require.Equal(t, len(in), placed, "each node stands in the text once")
}

// embedOf is a test of an article, as it is embedded.
func embedOf(name, code string, r *results.Result) *book.Embed {
	return &book.Embed{
		Claim: "A paused leader is fenced",
		Snippet: source.Snippet{
			Path: "samples/030-leases/lease_store_test.go", Name: name, Test: name,
			StartLine: 10, EndLine: 30, Code: []byte(code), Lang: "go", Marked: []int{3},
		},
		ID: name, SourceURL: repo + "/blob/" + rev + "/samples/030-leases/lease_store_test.go#L10-L30",
		Command: fmt.Sprintf("go test -run '^%s$' ./samples/030-leases", name),
		Result:  r,
	}
}

// fencedCode has what copying may spoil: tabs, quotes, signs of HTML, an empty
// line, and a line that is too long for any screen.
const fencedCode = `func TestLease_APausedLeaderIsFenced(t *testing.T) {
	leases, clock := newLeases(t) // fresh for each test
	old := leases.Acquire(t.Context(), "reports", 30*time.Second)

	clock.Advance(31 * time.Second)
	if token := old.Token(); token < 2 && token != 0 {
		t.Log("a < b & \"c\" > 'd'", ` + "`raw\t%d`" + `)
	}
	require.ErrorIs(t, data.Write(t.Context(), old.Token(), "a late write of a leader that has been paused for longer than its lease"), relay.ErrFenced)
}
`

const fencedOutput = "lease_store_test.go:17: token 1 < 2\n\t<refused>\n"

const drawing = `<svg class="dg dg-flowchart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 120" width="620" height="120" role="img" aria-labelledby="d1-title d1-desc"><title id="d1-title">Who may write</title><desc id="d1-desc">A leader asks the lease store for a token, and writes with it.</desc>` +
	`<g fill="none" stroke="currentColor" stroke-width="1.5"><rect class="dg-cluster" x="10" y="10" width="240" height="100"/><path class="dg-edge dg-dotted" stroke-dasharray="4 3" d="M180,70L380,70"/><rect class="dg-node" x="60" y="50" width="120" height="40" rx="4"/><rect class="dg-node" x="390" y="50" width="180" height="40"/><polygon class="dg-arrow" fill="currentColor" stroke="none" points="380,65 390,70 380,75"/></g>` +
	`<g fill="currentColor" text-anchor="middle" font-size="14"><text class="dg-cluster-title"><tspan x="130" y="30">one instance</tspan></text><text class="dg-label"><tspan x="120" y="75">leader</tspan></text><text class="dg-edge-label"><tspan x="300" y="60">acquire</tspan></text><text class="dg-label"><tspan x="480" y="75">lease store</tspan></text></g></svg>`

const locksText = `A lock is held until it is released[^1]. See [the leases](030-leases.html#renewing), or
<https://example.org/>, with ` + "`SELECT … FOR UPDATE`" + `.

## Taking a lock

| What happens | Look at | Cost |
|:-------------|---------|-----:|
| The nightly job runs on every instance, and nobody knows why it does | [leases](030-leases.html) | 1 |
| ` + "`pg_try_advisory_lock`" + ` | below | 12 |

{run}

{said}

### Without waiting

{sketch}

{query}

- one
- two
  1. three

~~gone~~ and [x] not a task.

#### Finer still

> A quotation.

## What it ` + "`does`" + ` not do

{warning}

    indented code

[^1]: Or until its session ends.
`

const leasesText = `Leases end by themselves.

## Renewing

{test}

{skipped}

{failed}

{whole}

## Picture

{drawing}
`

// newBook has two articles with every construct, a third that has little, and
// topics.
func newBook(t testing.TB) *book.Book {
	t.Helper()
	warning := &book.Alert{Label: "warning"}
	inside := ast.NewParagraph()
	inside.AppendChild(inside, ast.NewString([]byte("A lock does not protect data.")))
	warning.AppendChild(warning, inside)
	locks := newArticle(t, "023-locks", "Distributed locks", locksText, nodes{
		"run":     &book.Code{Lang: "sh", Body: "make demo\nmake test # all of them\n", Run: true},
		"said":    &book.Code{Lang: "text", Body: "A acquires the lock, token 33\n\tA pauses for 40 s (garbage collection); its 30 s lease expires, and nobody has told it yet\n", Output: true},
		"sketch":  &book.Code{Lang: "go", Body: "lock := take(\"x\")\ndefer lock.Release()\n", Sketch: true},
		"query":   &book.Code{Lang: "sql", Body: "SELECT pg_try_advisory_lock(42);\n"},
		"warning": warning,
	})
	locks.Tests = results.Tally{Passed: 7, Skipped: 1}
	locks.Needs = []string{"postgres"}

	whole := embedOf("", "package leases\n", nil)
	whole.ID, whole.Command, whole.Folded, whole.Claim = "lease_store_test.go", "", true, "The whole file"
	leases := newArticle(t, "030-leases", "Leases with fencing tokens", leasesText, nodes{
		"test":    embedOf("TestLease_APausedLeaderIsFenced", fencedCode, &results.Result{Status: results.Passed, Output: fencedOutput}),
		"skipped": embedOf("TestLease_Redis", "func TestLease_Redis(t *testing.T) {\n\tt.Skip()\n}\n", &results.Result{Status: results.Skipped, Why: "no Redis here"}),
		"failed":  embedOf("TestLease_Fails", "func TestLease_Fails(t *testing.T) {\n\tt.Fail()\n}\n", &results.Result{Status: results.Failed}),
		"whole":   whole,
		"drawing": &book.Diagram{SVG: drawing, Title: "Who may write", Description: "A leader asks the lease store for a token, and writes with it."},
	})
	leases.After = []*book.Article{locks}
	leases.Know = []string{"what a [lock](023-locks.html) is"}
	leases.Tests = results.Tally{Passed: 3}
	leases.Updated = leases.Updated.Add(time.Hour)

	bare := newArticle(t, "107-bare", "Rate limits", "Nothing yet.\n", nil)
	bare.Category, bare.Learn, bare.Concepts, bare.Updated, bare.EditURL = "Resilience", nil, nil, time.Time{}, ""
	return &book.Book{
		Articles: []*book.Article{locks, leases, bare},
		Images:   map[string][]byte{},
		Topics: []book.TopicGroup{
			{Article: locks, Topics: []book.Topic{{Text: "advisory locks", Heading: locks.Headings[0], Test: "TestLock", TestURL: repo + "/blob/" + rev + "/x_test.go#L1-L2"}}},
			{Article: leases, Topics: []book.Topic{{Text: "heartbeats and renewal", Heading: leases.Headings[0]}}},
			{Topics: []book.Topic{{Text: "Paxos: no reader of ours needs to write it"}}},
		},
	}
}
