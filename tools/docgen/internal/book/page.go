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
	diagrams  int
	embeds    []*Embed
	commands  []*Command
	outputs   []*Output // of tests
	breaks    []Break
	edits     []edit // that turn Source into Markdown
	bodyStart int    // of Source, after the title

	// broken: something that others refer to could not be read. It is one
	// finding, and what follows from it is none.
	broken bool

	head     []byte // the front matter
	titleID  string // what GitHub calls the title
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
	head, body, lines, ok := cutFront(text)
	p.head, p.lines, p.Source = head, lines, body
	p.Doc = parse(body)
	switch {
	case !slugLike.MatchString(name) || reserved[name]:
		p.giveUp("%q can't be the name of a page; name the file in lower-case words with hyphens, such as 107-rate-limits.md", name)
	case !ok:
		p.giveUp("there is no front matter; an article begins with a line ---, its keys, and a line ---")
	default:
		p.readFront(head)
		p.takeTitle()
		p.collectHeadings()
		p.checkSections()
		p.checkReferences()
	}
	p.Minutes = minutes(p.Doc, body)
	return p
}

// giveUp reports why an article can't be read, and empties it: what would be
// found in it says nothing.
func (p *page) giveUp(format string, args ...any) {
	p.report(1, 1, format, args...)
	p.broken, p.Source, p.Doc = true, nil, ast.NewDocument()
}

// reserved are the pages that are not articles.
var reserved = map[string]bool{"index": true, "topics": true, "404": true}

// takeTitle takes the first heading out of the tree: GitHub shows it, and the
// page has it from the front matter.
func (p *page) takeTitle() {
	first := p.Doc.FirstChild()
	if h, ok := first.(*ast.Heading); ok && h.Level == 1 {
		if text := Plain(h, p.Source); text != p.Title && p.Title != "" {
			p.reportAt(h, "the heading says %q and the front matter %q; make them the same, without markup", text, p.Title)
		}
		if !bytes.HasPrefix(p.Source[position(h):], []byte("#")) {
			p.reportAt(h, "the title is underlined; write it as # %s", p.Title)
		}
		for link := range nodes[*ast.Link](h) {
			p.reportAt(link, "the title has a link; a title is words alone")
		}
		p.titleID = p.ids.heading(Plain(h, p.Source))
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
		text := headingText(h, p.Source)
		if slug(text) == "" {
			p.reportAt(h, "the heading has no letter or digit, so nothing can link to it; give it words")
			continue
		}
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

// headingText is what GitHub makes a fragment of: without the alternatives of
// images.
func headingText(h ast.Node, source []byte) string {
	text := Plain(h, source)
	for image := range nodes[*ast.Image](h) {
		text = strings.Replace(text, Plain(image, source), "", 1)
	}
	return text
}

// checkSections wants something below each heading.
func (p *page) checkSections() {
	for n := p.Doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		if next, ok := n.NextSibling().(*ast.Heading); n.NextSibling() == nil || ok && next.Level <= h.Level {
			p.reportAt(h, "nothing stands below the heading %q; write the section, or take the heading away", Plain(h, p.Source))
		}
	}
}

// wordsPerMinute is a slow reader's pace: much of what is read is code.
const wordsPerMinute = 200

func minutes(doc ast.Node, source []byte) int {
	words := 0
	for child := doc.FirstChild(); child != nil; child = child.NextSibling() {
		words += len(strings.Fields(Plain(child, source)))
	}
	return max(1, (words+wordsPerMinute-1)/wordsPerMinute)
}
