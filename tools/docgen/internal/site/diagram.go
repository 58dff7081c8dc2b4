package site

import (
	"fmt"
	"html/template"
	"regexp"
	"strconv"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// wideDiagram is a fourth wider than the column of text. A drawing up to it is
// made to fit on a wide screen, with letters of 11 px at the least; a wider one
// scrolls.
const wideDiagram = 980

// diagramView is what the template of a diagram shows.
type diagramView struct {
	*book.Diagram
	HTML template.HTML
	Wide bool
}

type diagramRenderer struct{}

func (r diagramRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(book.KindDiagram, r.render)
}

func (diagramRenderer) render(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	d := n.(*book.Diagram)
	v := diagramView{d, template.HTML(d.SVG), svgWidth(d.SVG) > wideDiagram}
	if err := figures.ExecuteTemplate(w, "diagram.html", v); err != nil {
		return ast.WalkStop, fmt.Errorf("the diagram %q: %w", d.Title, err)
	}
	return ast.WalkSkipChildren, nil
}

var svgWidthAttr = regexp.MustCompile(`^<svg [^>]*\bwidth="([0-9.]+)`)

// svgWidth is how wide a drawing would like to be, or 0 if it does not say.
func svgWidth(svg string) float64 {
	m := svgWidthAttr.FindStringSubmatch(svg)
	if m == nil {
		return 0
	}
	width, _ := strconv.ParseFloat(m[1], 64)
	return width
}
