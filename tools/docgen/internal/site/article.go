package site

import (
	"html/template"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// articleView is what the template of an article's page shows.
type articleView struct {
	page
	around
	Article *book.Article
	Body    template.HTML
}

func (b *Builder) articlePage(a *book.Article, w around) ([]byte, error) {
	body, err := b.markdown.render(a.Doc, a.Source)
	if err != nil {
		return nil, err
	}
	p := b.newPage(pageOf(a), a.Title, a.Summary)
	p.Type, p.Here, p.Markdown = "article", "article", a.Slug+".md"
	return b.execute("article.html", articleView{p, w, a, body})
}

// categoryID is a fragment of the index page.
func categoryID(name string) string {
	return "category-" + strings.Join(strings.Fields(strings.ToLower(name)), "-")
}
