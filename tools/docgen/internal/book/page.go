package book

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
)

const (
	articlesDir = "articles"
	samplesDir  = "samples"
)

// page is an article in the making.
type page struct {
	*Article
	lines     int      // of the front matter
	after     []string // slugs, as the front matter has them
	ids       slugs
	headings  map[string]Heading // of all levels, by id
	shown     map[string]bool    // tests that an embed shows, at least in part
	regions   map[string]bool    // path and name of those embedded
	embeds    []*Embed
	commands  []*Command
	outputs   []*Output // of tests
	breaks    []Break
	edits     []edit // that turn Source into Markdown
	bodyStart int    // of Source, after the title

	// broken: something that others refer to could not be read. It is one
	// finding, and what follows from it is none.
	broken   bool
	findings []finding.Finding
}

// report adds a finding at a line of the article's file.
func (p *page) report(line, col int, format string, args ...any) {
	p.findings = append(p.findings, finding.Finding{File: p.Path, Line: line, Col: col, Message: fmt.Sprintf(format, args...)})
}

// reportAt adds a finding where a node stands.
func (p *page) reportAt(n ast.Node, format string, args ...any) {
	line, col := p.place(position(n))
	p.report(line, col, format, args...)
}

// place is the line and the column of an offset in the body.
func (p *page) place(offset int) (line, col int) {
	before := p.Source[:min(offset, len(p.Source))]
	return p.lines + bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

var (
	numbered = regexp.MustCompile(`^(\d{3})-`)
	slugLike = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// newPage reads an article as far as it can be read by itself.
func newPage(file string, text []byte) *page {
	name := strings.TrimSuffix(path.Base(file), ".md")
	p := &page{
		Article: &Article{Slug: name, Path: file, Sample: path.Join(samplesDir, name)},
		ids:     slugs{}, headings: map[string]Heading{}, shown: map[string]bool{}, regions: map[string]bool{},
	}
	if m := numbered.FindStringSubmatch(name); m != nil {
		p.Number = m[1]
	}
	if !slugLike.MatchString(name) || reserved[name] {
		p.report(1, 1, "%q can't be the name of a page; name the file in lower-case words with hyphens, such as 107-rate-limits.md", name)
	}
	head, body, lines, ok := cutFront(text)
	if !ok {
		p.report(1, 1, "there is no front matter; an article begins with a line ---, its keys, and a line ---")
	}
	p.lines, p.Source = lines, body
	if ok {
		p.readFront(head)
	}
	p.Doc = parse(body)
	p.takeTitle()
	p.collectHeadings()
	p.Minutes = minutes(p.Doc, body)
	return p
}

// reserved are the pages that are not articles.
var reserved = map[string]bool{"index": true, "topics": true, "404": true}

// takeTitle takes the first heading out of the tree: GitHub shows it, and the
// page has it from the front matter.
func (p *page) takeTitle() {
	first := p.Doc.FirstChild()
	if h, ok := first.(*ast.Heading); ok && h.Level == 1 {
		if text := plain(h, p.Source); text != p.Title && p.Title != "" {
			p.reportAt(h, "the heading says %q and the front matter %q; make them the same", text, p.Title)
		}
		p.ids.heading(plain(h, p.Source)) // taken on GitHub
		p.bodyStart = bodyAfter(p.Source, h)
		p.Doc.RemoveChild(p.Doc, h)
		return
	}
	p.report(p.lines+1, 1, "the article does not begin with its title; write # %s below the front matter", p.Title)
}

// bodyAfter is where the text goes on after the title's line.
func bodyAfter(source []byte, title *ast.Heading) int {
	if i := bytes.IndexByte(source[position(title):], '\n'); i >= 0 {
		return position(title) + i + 1
	}
	return len(source)
}

func (p *page) collectHeadings() {
	last := 1
	for h := range nodes[*ast.Heading](p.Doc) {
		text := plain(h, p.Source)
		if h.Level > last+1 || h.Level == 1 {
			p.reportAt(h, "heading of level %d after one of level %d; go down one level at a time, from 2 on", h.Level, last)
		}
		last = h.Level
		heading := Heading{h.Level, p.ids.heading(text), text}
		h.SetAttributeString("id", []byte(heading.ID))
		p.headings[heading.ID] = heading
		if h.Level == 2 || h.Level == 3 {
			p.Headings = append(p.Headings, heading)
		}
	}
}

// wordsPerMinute is a slow reader's pace: much of what is read is code.
const wordsPerMinute = 200

func minutes(doc ast.Node, source []byte) int {
	words := 0
	for child := doc.FirstChild(); child != nil; child = child.NextSibling() {
		words += len(strings.Fields(plain(child, source)))
	}
	return max(1, (words+wordsPerMinute-1)/wordsPerMinute)
}
