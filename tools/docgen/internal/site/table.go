package site

import (
	"fmt"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// tableRenderer puts a table into a region that scrolls, that the keyboard can
// reach, and that is named by the table's columns.
type tableRenderer struct{}

func (r tableRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(east.KindTable, r.render)
}

func (tableRenderer) render(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, _ = w.WriteString("</table></div>\n")
		return ast.WalkContinue, nil
	}
	var columns []string
	for cell := n.FirstChild().FirstChild(); cell != nil; cell = cell.NextSibling() {
		if name := strings.TrimSpace(book.Plain(cell, source)); name != "" {
			columns = append(columns, name)
		}
	}
	name := "Table"
	if len(columns) > 0 {
		name = "Table: " + strings.Join(columns, ", ")
	}
	_, _ = fmt.Fprintf(w, `<div class="scroll table" tabindex="0" role="region" aria-label="%s"><table>`+"\n",
		util.EscapeHTML([]byte(name)))
	return ast.WalkContinue, nil
}
