package book

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown is GitHub's dialect with footnotes. It is never changed, and safe for
// concurrent use.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))

func parse(source []byte) ast.Node {
	return markdown.Parser().Parse(text.NewReader(source))
}

// Plain is what a reader sees of a node, without markup, and without the code of
// embeds and fences.
func Plain(root ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock && n != root {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(unescape(n, source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *Embed:
			b.WriteString(n.Claim + " " + n.Snippet.Name)
		case *Diagram:
			b.WriteString(n.Title + " " + n.Description)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// unescape resolves the entities and backslashes that goldmark leaves to its
// renderer. What stands in a code span is meant as it is.
func unescape(n *ast.Text, source []byte) []byte {
	value := n.Segment.Value(source)
	if n.IsRaw() || n.Parent() != nil && n.Parent().Kind() == ast.KindCodeSpan {
		return value
	}
	return util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(value)))
}

// position is where a node begins in the source, or where the nearest node does
// that knows.
func position(n ast.Node) int {
	for at := n; at != nil; at = at.Parent() {
		if at.Kind() == ast.KindDocument {
			break
		}
		if pos := at.Pos(); pos >= 0 {
			return pos
		}
		for child := at.FirstChild(); child != nil; child = child.FirstChild() {
			if pos := child.Pos(); pos >= 0 {
				return pos
			}
		}
	}
	return 0
}
