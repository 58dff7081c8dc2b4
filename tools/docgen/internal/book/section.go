package book

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
)

// Section is what a README takes from a part of the article: the first of each
// kind below a heading of level 2.
type Section struct {
	Paragraph string // Markdown
	Table     string // Markdown
	Command   string // the first sh run
	Output    string // what it prints
}

// Claim is what a test shows, in the article's words.
type Claim struct {
	Text string
	Test string // TestX or TestX/subtest
	Path string
}

// Section returns the part of the article below a heading.
func (a *Article) Section(id string) Section { return a.sections[id] }

// collectSections reads the parts before their fences and links are changed.
func (p *page) collectSections() {
	p.sections = map[string]Section{}
	at := ""
	for n := p.Doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			id, _ := h.AttributeString("id")
			name, _ := id.([]byte) // none for a heading without words
			at = string(name)
			continue
		}
		s := p.sections[at]
		switch n := n.(type) {
		case *ast.Paragraph:
			if s.Paragraph == "" {
				s.Paragraph = strings.TrimSpace(blockText(n, p.Source))
			}
		case *extension.Table:
			if s.Table == "" {
				s.Table = p.tableSource(n)
			}
		case *Code:
			if n.Run && s.Command == "" {
				s.Command = n.Body
			} else if n.Output && s.Output == "" && s.Command != "" {
				s.Output = n.Body
			}
		}
		p.sections[at] = s
	}
}

// tableSource is a table as it is written.
func (p *page) tableSource(table *extension.Table) string {
	from := position(table)
	from = strings.LastIndexByte(string(p.Source[:from]), '\n') + 1
	last := position(table.LastChild())
	if end := bytes.IndexByte(p.Source[last:], '\n'); end >= 0 {
		return string(p.Source[from : last+end+1])
	}
	return string(p.Source[from:]) + "\n"
}

// collectClaims lists what the embedded tests show.
func (p *page) collectClaims() {
	for _, embed := range p.embeds {
		if embed.Command == "" || !strings.HasPrefix(embed.Snippet.Path, p.Sample+"/") {
			continue
		}
		claim := Claim{embed.Claim, embed.test, embed.Snippet.Path}
		if !slices.Contains(p.Claims, claim) {
			p.Claims = append(p.Claims, claim)
		}
	}
}
