package book

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// The HTML that GitHub shows and the site passes on: a part that opens on
// demand, such as an exercise's solution. An empty line has to end each piece, or
// the Markdown after it would be shown as it stands.
var (
	opensDetails  = regexp.MustCompile(`^\s*<details>\s*<summary>[^<>\n]+</summary>\s*$`)
	closesDetails = regexp.MustCompile(`^\s*</details>\s*$`)
	lineBreak     = regexp.MustCompile(`^<br ?/?>$`)
)

const htmlMend = "raw HTML %q; there may be <details>, then <summary>words</summary>, then an empty line, Markdown, an empty line and </details>, all without attributes"

// checkHTML lets nothing else through, comments included.
func (p *page) checkHTML() {
	var open []ast.Node
	for block := range nodes[*ast.HTMLBlock](p.Doc) {
		html := blockText(block, p.Source)
		switch {
		case block.Parent() == p.Doc && opensDetails.MatchString(html):
			open = append(open, block)
		case block.Parent() == p.Doc && closesDetails.MatchString(html) && len(open) > 0:
			open = open[:len(open)-1]
		default:
			p.reportAt(block, htmlMend, firstLine(html))
			return // what follows may only follow from it
		}
	}
	for _, block := range open {
		p.reportAt(block, "<details> is never closed; write </details> after its content, on a line between empty ones")
	}
	said := map[ast.Node]bool{}
	for inline := range nodes[*ast.RawHTML](p.Doc) {
		html := string(inline.Segments.Value(p.Source))
		if lineBreak.MatchString(html) || said[inline.Parent()] { // a break in a cell of a table; a closing tag
			continue
		}
		said[inline.Parent()] = true
		p.reportAt(inline, htmlMend, firstLine(html))
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
