package site

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// codeView is what the template of a fenced block shows.
type codeView struct {
	Class   string // command, output, sketch, listing or text
	Caption string // what stands above it; may be nothing
	Name    string // what the region is called, with the first line
	First   string // of what it shows
	Copied  bool   // it has a button to copy it
	HTML    template.HTML
}

// codeRenderer also renders the blocks that the book leaves to goldmark: code
// that is indented, which has no language.
type codeRenderer struct{}

func (r codeRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(book.KindCode, r.code)
	reg.Register(ast.KindCodeBlock, r.plain)
	reg.Register(ast.KindFencedCodeBlock, r.fenced)
}

func (codeRenderer) code(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	return writeCode(w, n.(*book.Code))
}

func (codeRenderer) plain(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	return writeCode(w, &book.Code{Body: string(n.Lines().Value(source))})
}

func (codeRenderer) fenced(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	lang := string(n.(*ast.FencedCodeBlock).Language(source))
	return writeCode(w, &book.Code{Lang: lang, Body: string(n.Lines().Value(source))})
}

func writeCode(w util.BufWriter, n *book.Code) (ast.WalkStatus, error) {
	v := newCodeView(n)
	v.First = shorten(strings.TrimSpace(firstLine(n.Body)), 40)
	v.Copied = v.Class != "output" && v.Class != "text"
	v.HTML = highlighted(n.Lang, []byte(n.Body), nil)
	if err := figures.ExecuteTemplate(w, "code.html", v); err != nil {
		return ast.WalkStop, fmt.Errorf("a block of %q: %w", n.Lang, err)
	}
	return ast.WalkSkipChildren, nil
}

// languages are written as their makers do; others as the article has them.
var languages = map[string]string{
	"diff": "Changes", "go": "Go", "json": "JSON", "make": "Makefile", "md": "Markdown",
	"sql": "SQL", "toml": "TOML", "yaml": "YAML", "yml": "YAML", "text": "", "": "",
}

func newCodeView(n *book.Code) codeView {
	switch {
	case n.Sketch:
		return codeView{Class: "sketch", Caption: "Sketch: it illustrates, and is not compiled or tested", Name: "Sketch"}
	case n.Output:
		return codeView{Class: "output", Caption: "Output", Name: "Output"}
	case n.Lang == "sh":
		return codeView{Class: "command", Name: "Command"}
	}
	caption, known := languages[n.Lang]
	if !known {
		caption = n.Lang
	}
	if caption == "" {
		return codeView{Class: "text", Name: "Text"}
	}
	return codeView{Class: "listing", Caption: caption, Name: caption}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(s, "\n"), "\n")
	return line
}
