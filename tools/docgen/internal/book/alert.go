package book

import (
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

var (
	alertLine = regexp.MustCompile(`^\[!([A-Za-z]+)\][ \t]*(.*?)\s*$`)
	alerts    = []string{"note", "tip", "important", "warning", "caution"}
)

// resolveAlerts turns quotations that begin with [!NOTE] and the like into
// alerts, as GitHub does.
func (p *page) resolveAlerts() {
	for quote := range nodes[*ast.Blockquote](p.Doc) {
		first, ok := quote.FirstChild().(*ast.Paragraph)
		if !ok {
			continue
		}
		line := first.Lines().At(0)
		m := alertLine.FindSubmatch(line.Value(p.Source))
		if m == nil {
			continue
		}
		if len(m[2]) > 0 {
			p.reportAt(quote, "[!%s] has words behind it; give the mark a line of its own", m[1])
			continue
		}
		if quote.Parent() != p.Doc {
			p.reportAt(quote, "[!%s] is within a list or a quotation, where GitHub shows no alert; put it at the top level", m[1])
			continue
		}
		label := strings.ToLower(string(m[1]))
		if !slices.Contains(alerts, label) {
			p.reportAt(quote, "[!%s] is no alert; there are %s", m[1], strings.ToUpper(strings.Join(alerts, ", ")))
			continue
		}
		alert := &Alert{Label: label}
		alert.SetPos(position(quote))
		replace(quote, alert)
		dropBefore(first, line.Stop)
		for child := quote.FirstChild(); child != nil; child = quote.FirstChild() {
			if child == first && !first.HasChildren() {
				quote.RemoveChild(quote, first)
				continue
			}
			alert.AppendChild(alert, child)
		}
		if !alert.HasChildren() {
			p.reportAt(alert, "the alert says nothing; continue the quotation with a line > …")
		}
	}
}

// dropBefore takes out of a paragraph what ends before an offset.
func dropBefore(paragraph ast.Node, offset int) {
	for child := paragraph.FirstChild(); child != nil; {
		next := child.NextSibling()
		if child.Pos() < offset {
			paragraph.RemoveChild(paragraph, child)
		}
		child = next
	}
}
