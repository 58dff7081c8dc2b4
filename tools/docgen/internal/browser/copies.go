package browser

import (
	"github.com/yuin/goldmark/ast"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// Copies are what the copy buttons of a book's pages have to give: the bytes of
// the files, tabs included, and commands without a prompt.
func Copies(bk *book.Book) map[string][]string {
	all := map[string][]string{"index.html": {"make demo", "make test"}}
	for _, a := range bk.Articles {
		texts := []string{}
		_ = ast.Walk(a.Doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *book.Embed:
				texts = append(texts, string(n.Snippet.Code))
				if n.Command != "" {
					texts = append(texts, n.Command)
				}
			case *book.Code:
				if !n.Output && n.Lang != "text" && n.Lang != "" {
					texts = append(texts, n.Body)
				}
			}
			return ast.WalkContinue, nil
		})
		all[a.Slug+".html"] = texts
	}
	return all
}
