package main

import (
	"bytes"
	"compress/gzip"
	"net/url"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/browser"
	"github.com/relay-samples/relay-go/tools/docgen/internal/prove"
	"github.com/relay-samples/relay-go/tools/docgen/internal/readme"
	"github.com/relay-samples/relay-go/tools/docgen/internal/site"
)

// repository is the one that this test is a part of.
func repository(t *testing.T) (*project, *book.Book) {
	t.Helper()
	root, err := findRoot()
	require.NoError(t, err)
	p, err := open(t.Context(), root, "main", "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.tree.Close()) })
	b, err := p.loader.Load(p.options)
	require.NoError(t, err)
	return p, b
}

func takesLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long, and -short is set")
	}
}

func TestArticles_SayWhatTheRepositoryHolds(t *testing.T) {
	p, b := repository(t)
	require.Empty(t, b.Findings)
	require.Empty(t, readme.Check(b, p.tree))
}

// An exercise that says "take this out, and the test fails" is tried.
func TestArticles_ExercisesBreakTheTestsThatTheySay(t *testing.T) {
	takesLong(t)
	p, b := repository(t)
	require.NotEmpty(t, b.Breaks)
	findings, untried := prove.Breaks(t.Context(), p.root, p.tree, b.Breaks)
	require.Empty(t, findings)
	if len(untried) > 0 {
		t.Skip(untried)
	}
}

// What every article has, whatever it is about.
func TestArticles_HaveEveryPart(t *testing.T) {
	_, b := repository(t)
	for _, a := range b.Articles {
		var level2 []string
		for _, h := range a.Headings {
			if h.Level == 2 {
				level2 = append(level2, h.Text)
			}
		}
		require.Subset(t, level2, []string{
			"Overview", "Why this exists", "When to use this", "When not to use this", "Concepts", "Architecture",
			"Building it step by step", "Complete source code", "Running the example", "Testing",
			"Production considerations", "Common mistakes", "Trade-offs", "Alternatives", "Lessons from production",
			"Should you use this?", "Exercise", "Further reading", "Next steps",
		}, a.Path)
	}
}

// siteBelow is the site of this repository, at a path of a server.
func siteBelow(t *testing.T, root string) (*book.Book, map[string][]byte) {
	t.Helper()
	p, b := repository(t)
	base := &url.URL{Scheme: "https", Host: "example.org", Path: root}
	files, err := site.New(site.Options{BaseURL: base, Rev: "main", Repo: p.options.Repo}).Build(b)
	require.NoError(t, err)
	return b, files
}

func TestSite_PassesItsBrowserTestUnderAnyPath(t *testing.T) {
	takesLong(t)
	chromium := browser.Start(t)
	for _, root := range []string{"/", "/x/y/"} {
		b, files := siteBelow(t, root)
		problems, err := chromium.Check(browser.Site{
			Files: files, Root: root, Copies: browser.Copies(b), Query: "fencing token", Found: "fencing-demo.html",
		})
		require.NoError(t, err)
		for _, problem := range problems {
			t.Errorf("under %s: %s: %s: %s", root, problem.Page, problem.View, problem.What)
		}
	}
}

func TestSite_PagesAndScriptsAreSmall(t *testing.T) {
	_, files := siteBelow(t, "/")
	scripts := 0
	for name, content := range files {
		switch path.Ext(name) {
		case ".html":
			require.LessOrEqual(t, zipped(t, content), 60<<10, name)
		case ".json":
			require.LessOrEqual(t, zipped(t, content), 150<<10, name)
		case ".js":
			scripts += len(content)
		}
	}
	require.NotZero(t, scripts)
	require.LessOrEqual(t, scripts, 10<<10)
}

func zipped(t *testing.T, content []byte) int {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Len()
}
