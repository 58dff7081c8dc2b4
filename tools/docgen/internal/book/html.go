package book

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// allowedHTML are the tags that GitHub shows and the site passes on: a part that
// opens on demand, such as an exercise's solution.
var allowedHTML = regexp.MustCompile(`^(?:\s*</?(?:details|summary)>[^<>]*)+\s*$`)

// checkHTML lets no other tags through, comments included.
func (p *page) checkHTML() {
	const mend = "raw HTML %q; only <details> and <summary> are passed on, each without attributes, with an empty line between them and Markdown"
	for block := range nodes[*ast.HTMLBlock](p.Doc) {
		if html := blockText(block, p.Source); !allowedHTML.MatchString(html) {
			p.reportAt(block, mend, firstLine(html))
		}
	}
	said := map[ast.Node]bool{}
	for inline := range nodes[*ast.RawHTML](p.Doc) {
		html := string(inline.Segments.Value(p.Source))
		if html == "<br>" || html == "<br/>" || said[inline.Parent()] { // a break in a cell of a table; a closing tag
			continue
		}
		said[inline.Parent()] = true
		p.reportAt(inline, mend, firstLine(html))
	}
	p.checkDetails()
}

// checkDetails wants each <details> closed.
func (p *page) checkDetails() {
	var open []ast.Node
	for block := range nodes[*ast.HTMLBlock](p.Doc) {
		html := blockText(block, p.Source)
		for range strings.Count(html, "<details>") {
			open = append(open, block)
		}
		for range strings.Count(html, "</details>") {
			if len(open) == 0 {
				p.reportAt(block, "</details> closes nothing")
				continue
			}
			open = open[:len(open)-1]
		}
	}
	for _, block := range open {
		p.reportAt(block, "<details> is never closed; write </details> after its content, on a line between empty ones")
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
