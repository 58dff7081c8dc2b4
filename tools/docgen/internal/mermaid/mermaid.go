package mermaid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Drawing is a diagram, drawn.
type Drawing struct {
	SVG         string
	Title       string // accTitle
	Description string // accDescr
}

// Error is a fault in a diagram's source.
type Error struct {
	Line    int // of the source, from 1
	Message string
}

func (e Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Draw draws the source of one Mermaid fence. The ids inside the SVG start with
// id, so that several diagrams can share a page. With errors the Drawing is
// empty. The same source gives the same bytes, whatever was drawn before, and
// Draw may be called from several goroutines.
func Draw(source, id string) (Drawing, []Error) {
	p := drawn.picture(source)
	if len(p.errs) > 0 {
		return Drawing{}, slices.Clone(p.errs)
	}
	return Drawing{SVG: p.svg(id), Title: p.title, Description: p.description}, nil
}

// picture is a diagram without its ids: what a source alone decides.
type picture struct {
	title, description string
	kind               string // flowchart or sequence
	canvas             *canvas
	errs               []Error
}

// memoLimit bounds what a long-lived `docgen serve` keeps: each edit of a
// diagram adds a picture of a few KB.
const memoLimit = 2000

// memo remembers pictures by source: a rebuild of the site lays out again only
// the diagrams that changed.
type memo struct {
	mu       sync.Mutex // guards pictures; not held while drawing
	pictures map[string]*picture
}

var drawn = memo{pictures: map[string]*picture{}}

func (m *memo) picture(source string) *picture {
	m.mu.Lock()
	p, ok := m.pictures[source]
	m.mu.Unlock()
	if ok {
		return p
	}

	p = draw(source)

	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pictures) >= memoLimit {
		clear(m.pictures)
	}
	m.pictures[source] = p
	return p
}

func draw(source string) *picture {
	doc := read(source)
	p := &picture{}

	switch doc.kind {
	case flowchartKind:
		chart := parseFlow(doc)
		if doc.checkAlternative(); len(doc.errs) == 0 {
			p.canvas = chart.draw(doc)
		}
	case sequenceKind:
		seq := parseSequence(doc)
		if doc.checkAlternative(); len(doc.errs) == 0 {
			p.canvas = seq.draw()
		}
	}

	slices.SortStableFunc(doc.errs, func(a, b Error) int { return cmp.Compare(a.Line, b.Line) })
	p.kind, p.title, p.description, p.errs = doc.kind, doc.title, doc.description, slices.Compact(doc.errs)
	return p
}

// svg puts the ids into the picture: only the title and the description have
// one, since heads are polygons rather than markers.
func (p *picture) svg(id string) string {
	var b strings.Builder
	id = escape(id)
	box := p.canvas.bounds.grow(8)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="dg dg-%s" role="img" aria-labelledby="%s-title %s-desc" viewBox="%s %s %s %s" width="%s" height="%s">`,
		p.kind, id, id, num(box.x0), num(box.y0), num(box.width()), num(box.height()), num(box.width()), num(box.height()))
	fmt.Fprintf(&b, `<title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`, id, escape(p.title), id, escape(p.description))
	p.canvas.writeTo(&b)
	b.WriteString("</svg>")
	return b.String()
}
