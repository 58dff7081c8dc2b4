package site

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// plainText is what a reader sees of a node, without the code of embeds and
// fences.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(textOf(n, source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *book.Embed:
			b.WriteString(n.Claim + " " + n.Snippet.Name)
		case *book.Diagram:
			b.WriteString(n.Title + " " + n.Description)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// textOf resolves the entities and backslashes that goldmark leaves to its
// renderer. A code span means what it says.
func textOf(n *ast.Text, source []byte) []byte {
	value := n.Segment.Value(source)
	if n.IsRaw() || n.Parent() != nil && n.Parent().Kind() == ast.KindCodeSpan {
		return value
	}
	return util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(value)))
}
