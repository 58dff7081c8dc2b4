package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/browser"
)

func TestSite_WorksInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes long, and -short is set")
	}
	b := browser.Start(t)
	for _, root := range []string{"/", "/x/y/"} {
		t.Run("under "+root, func(t *testing.T) {
			for _, p := range checkSite(t, b, root, newBook(t), nil) {
				t.Error(p)
			}
		})
	}
}

// checkSite builds a book and looks at its site, which faults spoil before.
func checkSite(t *testing.T, b *browser.Browser, root string, bk *book.Book, faults []fault) []browser.Problem {
	t.Helper()
	s := browser.Site{
		Files: build(t, "https://relay.example"+root, bk), Root: root,
		Copies: browser.Copies(bk), Query: "renewed leases", Found: "030-leases.html",
	}
	for _, f := range faults {
		spoil(t, s.Files, f)
	}
	problems, err := b.Check(s)
	require.NoError(t, err)
	return problems
}
