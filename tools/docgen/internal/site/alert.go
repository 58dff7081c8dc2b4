package site

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

type alertRenderer struct{}

func (r alertRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(book.KindAlert, r.render)
}

func (alertRenderer) render(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, _ = w.WriteString("</div>\n")
		return ast.WalkContinue, nil
	}
	label := n.(*book.Alert).Label
	title := strings.ToUpper(label[:1]) + label[1:]
	_, _ = w.WriteString(`<div class="alert ` + label + `" role="note" aria-label="` + title + `">` + "\n")
	_, _ = w.WriteString(`<p class="alert-title">` + title + "</p>\n")
	return ast.WalkContinue, nil
}
