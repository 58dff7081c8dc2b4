package site

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Those that render our nodes, or render a node of goldmark's in another way,
// come before goldmark's own: the lower number wins.
const (
	ours      = 100
	goldmarks = 500
)

// markdown renders the trees that the book has made.
type markdown struct {
	images *imageRenderer
	blocks renderer.Renderer
	lines  goldmark.Markdown // of text without blocks
}

func newMarkdown() *markdown {
	m := &markdown{images: &imageRenderer{}}
	m.blocks = renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(embedRenderer{}, ours),
		util.Prioritized(diagramRenderer{}, ours),
		util.Prioritized(codeRenderer{}, ours),
		util.Prioritized(alertRenderer{}, ours),
		util.Prioritized(headingRenderer{}, ours),
		util.Prioritized(tableRenderer{}, ours),
		util.Prioritized(rawRenderer{}, ours),
		util.Prioritized(m.images, ours),
		util.Prioritized(html.NewRenderer(), goldmarks),
		// An align attribute: a style attribute would break our content policy.
		util.Prioritized(extension.NewTableHTMLRenderer(
			extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), goldmarks),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), goldmarks),
		util.Prioritized(extension.NewTaskCheckBoxHTMLRenderer(), goldmarks),
		util.Prioritized(extension.NewFootnoteHTMLRenderer(extension.WithFootnoteBacklinkHTML(
			`<span aria-hidden="true">↩</span><span class="unseen">Back to the text</span>`)), goldmarks),
	))
	m.lines = goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1)),
			parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		)),
		goldmark.WithRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(
			util.Prioritized(lineRenderer{}, ours),
			util.Prioritized(rawRenderer{}, ours),
			util.Prioritized(html.NewRenderer(), goldmarks),
		))),
	)
	return m
}

// render renders the tree of an article.
func (m *markdown) render(doc ast.Node, source []byte) (template.HTML, error) {
	var out bytes.Buffer
	if err := m.blocks.Render(&out, source, doc); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil
}

// inline renders a line of Markdown: code, links and emphasis, and no blocks.
func (m *markdown) inline(line string) (template.HTML, error) {
	var out bytes.Buffer
	source := []byte(line)
	doc := m.lines.Parser().Parse(text.NewReader(source))
	if err := m.lines.Renderer().Render(&out, source, doc); err != nil {
		return "", fmt.Errorf("%q: %w", line, err)
	}
	return template.HTML(out.String()), nil
}

// lineRenderer leaves out the paragraph that goldmark puts around a line.
type lineRenderer struct{}

func (lineRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindParagraph, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
		return ast.WalkContinue, nil
	})
}
