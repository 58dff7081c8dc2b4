package readme

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// move copies parts of an article into the README of its sample, where the same
// file has another address.
type move struct {
	article  *book.Article
	file     []byte // the article's, for the lines of findings
	defined  []parser.Reference
	findings []finding.Finding
}

func newMove(a *book.Article, tree *source.Tree) *move {
	file, err := tree.Read(a.Path)
	if err != nil { // it has just been read
		file = a.Source
	}
	context := parser.NewContext()
	markdown.Parser().Parse(text.NewReader(a.Source), parser.WithContext(context))
	return &move{article: a, file: file, defined: context.References()}
}

// part is a part of the article as the README has it.
func (m *move) part(part string) string {
	context := parser.NewContext()
	for _, reference := range m.defined {
		context.AddReference(reference)
	}
	doc := markdown.Parser().Parse(text.NewReader([]byte(part)), parser.WithContext(context))
	p := movedPart{move: m, source: part, ends: map[ast.Node]int{}}
	_ = ast.Walk(doc, p.visit)
	p.moved.WriteString(part[p.at:])
	return p.moved.String()
}

// movedPart is a part on its way. Links are met in the order of their addresses:
// the one around an image comes after it.
type movedPart struct {
	*move
	source string
	moved  strings.Builder // source up to at
	at     int
	ends   map[ast.Node]int // where the addresses of links and images end
}

var footnote = regexp.MustCompile(`\[\^[^\]\s]+\]`)

func (p *movedPart) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		if entering && hasFootnote(n, p.source) {
			p.report(n, "the sample's README begins with this too, and has no footnotes; put the note into the text")
		}
	case *ast.Link:
		if !entering {
			p.link(n, n.Destination, n.Reference)
		}
	case *ast.Image:
		if !entering {
			p.link(n, n.Destination, n.Reference)
		}
	}
	return ast.WalkContinue, nil
}

// hasFootnote tells whether the text of a block refers to a footnote.
func hasFootnote(block ast.Node, source string) bool {
	prose := []byte{}
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Kind() == ast.KindCodeSpan {
			return ast.WalkSkipChildren, nil
		}
		if text, ok := n.(*ast.Text); ok && entering {
			prose = append(prose, source[text.Segment.Start:text.Segment.Stop]...)
		}
		return ast.WalkContinue, nil
	})
	return footnote.Match(prose)
}

// report adds a finding where a node stands in the article.
func (p *movedPart) report(n ast.Node, format string, args ...any) {
	offset := max(bytes.Index(p.file, []byte(p.source)), 0) + max(n.Pos(), 0)
	before := p.file[:min(offset, len(p.file))]
	p.findings = append(p.findings, finding.Finding{
		File: p.article.Path, Line: bytes.Count(before, []byte("\n")) + 1, Col: len(before) - bytes.LastIndexByte(before, '\n'),
		Message: fmt.Sprintf(format, args...),
	})
}

func (p *movedPart) link(n ast.Node, destination []byte, reference *ast.ReferenceLink) {
	if reference != nil {
		p.report(n, "the sample's README begins with this too, and has no references; write the address of %s into the link itself: [text](address)", destination)
		return
	}
	from := p.endOf(n.LastChild(), max(n.Pos(), 0))
	opening := regexp.MustCompile(`\]\(\s*<?` + regexp.QuoteMeta(string(destination)))
	found := opening.FindStringIndex(p.source[from:])
	if found == nil {
		p.report(n, "the address %s can't be found in the text of the link; write it as [text](address)", destination)
		return
	}
	p.ends[n] = from + found[1]
	p.moved.WriteString(p.source[p.at : p.ends[n]-len(destination)])
	p.moved.WriteString(p.address(string(destination)))
	p.at = p.ends[n]
}

// endOf is where the text of a node ends, or where its parent's began if nobody
// knows.
func (p *movedPart) endOf(n ast.Node, began int) int {
	switch n := n.(type) {
	case nil:
		return began
	case *ast.Text:
		return n.Segment.Stop
	case *ast.Link, *ast.Image:
		return max(p.ends[n], began)
	}
	return p.endOf(n.LastChild(), max(n.Pos(), began))
}

// address is where something is as seen from the sample, given where it is as
// seen from the article.
func (m *move) address(old string) string {
	a := m.article
	u, err := url.Parse(old)
	switch {
	case err != nil || u.Scheme != "" || u.Host != "" || old == "":
		return old
	case strings.HasPrefix(old, "#"):
		return within(a.Sample, a.Path) + old
	}
	file, fragment, _ := strings.Cut(old, "#")
	if fragment != "" {
		fragment = "#" + fragment
	}
	return within(a.Sample, path.Join(path.Dir(a.Path), file)) + fragment
}

// within is a path as seen from a folder.
func within(folder, file string) string {
	if file == folder {
		return "."
	}
	if rest, ok := strings.CutPrefix(file, folder+"/"); ok {
		return rest
	}
	return path.Join(strings.Repeat("../", strings.Count(folder, "/")+1), file)
}
