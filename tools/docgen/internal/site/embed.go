package site

import (
	"fmt"
	"html/template"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// embedView is what the template of a piece of source shows.
type embedView struct {
	*book.Embed
	Name  string // what the code is called where it has to be named
	Label string // what it is called above the code: its path, and its name if it has one
	Lines string // how many
	HTML  template.HTML
	Badge badge
}

type embedRenderer struct{}

func (r embedRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(book.KindEmbed, r.render)
}

func (embedRenderer) render(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	e := n.(*book.Embed)
	v := embedView{
		Embed: e,
		Name:  nameOf(e.Snippet),
		Label: e.Snippet.Path,
		Lines: count(strings.Count(string(e.Snippet.Code), "\n"), "line"),
		HTML:  highlighted(e.Snippet.Lang, e.Snippet.Code, e.Snippet.Marked),
		Badge: newBadge(e.Result),
	}
	if e.Snippet.Name != "" {
		v.Label += " · " + strings.TrimPrefix(e.Snippet.Name, "region:")
	}
	if err := figures.ExecuteTemplate(w, "embed.html", v); err != nil {
		return ast.WalkStop, fmt.Errorf("the code %s: %w", v.Label, err)
	}
	return ast.WalkSkipChildren, nil
}

// nameOf tells a piece of code from the others of its page.
func nameOf(s source.Snippet) string {
	switch name := strings.TrimPrefix(s.Name, "region:"); {
	case name == "":
		return path.Base(s.Path)
	case name != s.Name:
		return name + " in " + path.Base(s.Path)
	default:
		return name
	}
}
