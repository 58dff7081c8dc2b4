package site

import (
	"fmt"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// headingRenderer puts the link to a heading beside it, not into it: the link's
// name is no part of the heading's.
type headingRenderer struct{}

func (r headingRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, r.render)
}

func (headingRenderer) render(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	id := idOf(h)
	if entering {
		_, _ = fmt.Fprintf(w, `<div class="heading"><h%d id="%s">`, h.Level, util.EscapeHTML(id))
		return ast.WalkContinue, nil
	}
	_, _ = fmt.Fprintf(w, `</h%d><a class="anchor" href="#%s" aria-label="Link to: %s">#</a></div>`+"\n",
		h.Level, util.EscapeHTML(util.URLEscape(id, false)), util.EscapeHTML([]byte(strings.TrimSpace(book.Plain(h, source)))))
	return ast.WalkContinue, nil
}

// idOf is the id that the book has given to a heading.
func idOf(h *ast.Heading) []byte {
	id, _ := h.AttributeString("id")
	switch id := id.(type) {
	case []byte:
		return id
	case string:
		return []byte(id)
	}
	return nil
}
