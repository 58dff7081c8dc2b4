package site

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// rawRenderer passes on the HTML that an article may have: a part that is folded
// away, and <br>. The book has refused everything else. What got here nevertheless is an
// error: goldmark would leave it out without a word.
type rawRenderer struct{}

var folds = regexp.MustCompile(`^(?:\s*</?(?:details|summary)>[^<>]*)+\s*$`)

func (r rawRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHTMLBlock, r.block)
	reg.Register(ast.KindRawHTML, r.inline)
}

func (rawRenderer) block(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	return ast.WalkContinue, passHTML(w, n.Lines().Value(source))
}

func (rawRenderer) inline(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	raw := n.(*ast.RawHTML).Segments.Value(source)
	if s := string(raw); s == "<br>" || s == "<br/>" { // a line's end in the cell of a table
		_, err := w.WriteString("<br>")
		return ast.WalkContinue, err
	}
	return ast.WalkContinue, passHTML(w, raw)
}

func passHTML(w util.BufWriter, raw []byte) error {
	if folds.Match(raw) {
		_, err := w.Write(raw)
		return err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(raw)), "\n")
	return fmt.Errorf("HTML in an article: %s; say it in Markdown, or in a code span if it is to be read", first)
}
