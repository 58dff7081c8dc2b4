package site

import (
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// section is what the search finds: an article's part below a heading of level 2
// or 3, or what stands before the first of them.
type section struct {
	article *book.Article
	heading book.Heading // zero for the part before the first
	excerpt string
	terms   map[string]float64 // how much each term weighs here
}

// What a term weighs by where it stands: a word of the text counts once.
const (
	inText    = 1
	inTopic   = 2 // a topic of the book's index that this section covers
	inHeading = 4
	inFirst   = 5 // the title and the summary, for the part before the first heading
)

// sectionsOf splits an article at its headings.
func sectionsOf(a *book.Article) []section {
	headings := make(map[string]book.Heading, len(a.Headings))
	for _, h := range a.Headings {
		headings[h.ID] = h
	}
	first := newSection(a, book.Heading{})
	first.add(a.Title+" "+a.Summary, inFirst)
	first.add(strings.Join(a.Concepts, " "), inHeading)
	first.excerpt = a.Summary
	sections := []section{first}
	for n := a.Doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			if heading, ok := headings[string(idOf(h))]; ok {
				sections = append(sections, newSection(a, heading))
				continue
			}
		}
		sections[len(sections)-1].read(n, a.Source)
	}
	return sections
}

func newSection(a *book.Article, h book.Heading) section {
	s := section{article: a, heading: h, terms: map[string]float64{}}
	s.add(h.Text, inHeading)
	return s
}

func (s *section) add(text string, weight float64) {
	for _, term := range terms(text) {
		s.terms[term] += weight
	}
}

// read adds a block of the article. The first paragraph shows in the results.
func (s *section) read(n ast.Node, source []byte) {
	text := book.Plain(n, source)
	s.add(text, inText)
	if s.excerpt == "" && n.Kind() == ast.KindParagraph {
		s.excerpt = shorten(strings.Join(strings.Fields(text), " "), excerptLength)
	}
}

const excerptLength = 130

// shorten cuts a text between words.
func shorten(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	cut := string([]rune(text)[:length])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, ",;:. ") + "…"
}
