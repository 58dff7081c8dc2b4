package mermaid

import (
	"math"
	"slices"
)

// Measures of a sequence diagram, in pixels.
const (
	actorWrap   = 120.0
	messageWrap = 170.0 // between neighbours; more where a message passes others
	passedWrap  = 110.0 // for each participant that it passes
	noteWrap    = 190.0
	actorGap    = 24.0
	rowGap      = 14.0
	barWidth    = 10.0
	barStep     = 5.0 // how far a nested bar stands out
	loopWidth   = 30.0
	loopHeight  = 20.0
	noteOver    = 20.0 // how far a note over two reaches beyond their lifelines
	frameGap    = 12.0
	tabHeight   = 20.0
	discRadius  = 9.0
)

// distance is a wish: from one lifeline to another, at least so many pixels.
type distance struct {
	from, to int
	least    float64
}

// columns wraps all texts and places the lifelines so that every text has room.
func (s *sequence) columns() {
	var wishes []distance
	for _, a := range s.participants {
		a.label = wrap(a.label, nodeFont, actorWrap)
		a.width = math.Ceil(math.Max(blockWidth(a.label, nodeFont.size)+24, 72))
	}
	for i := range len(s.participants) - 1 {
		a, b := s.participants[i], s.participants[i+1]
		wishes = append(wishes, distance{i, i + 1, (a.width+b.width)/2 + actorGap})
	}
	walk(s.items, func(i item) {
		switch i := i.(type) {
		case *message:
			wishes = append(wishes, i.wish())
		case *note:
			wishes = append(wishes, i.wishes()...)
		}
	})

	gaps := s.solve(wishes)
	x := 0.0
	for i, a := range s.participants {
		a.x = x
		if i < len(gaps) {
			x += gaps[i]
		}
	}
}

// solve grants the wishes of neighbours first, and spreads what a wish over
// several columns still lacks evenly over them.
func (s *sequence) solve(wishes []distance) []float64 {
	gaps := make([]float64, max(0, len(s.participants)-1))
	slices.SortStableFunc(wishes, func(a, b distance) int { return (a.to - a.from) - (b.to - b.from) })
	for _, w := range wishes {
		if w.from < 0 || w.to > len(gaps) || w.from == w.to {
			continue // beyond the outermost lifeline there is room
		}
		have := 0.0
		for _, g := range gaps[w.from:w.to] {
			have += g
		}
		if lacks := w.least - have; lacks > 0 {
			for i := w.from; i < w.to; i++ {
				gaps[i] += math.Ceil(lacks / float64(w.to-w.from))
			}
		}
	}
	return gaps
}

func (m *message) wish() distance {
	from, to := min(m.from.index, m.to.index), max(m.from.index, m.to.index)
	if from == to {
		m.text = wrap(m.text, edgeFont, messageWrap)
		return distance{from, from + 1, barWidth + loopWidth + blockWidth(m.text, edgeFont.size) + 24}
	}
	m.text = wrap(m.text, edgeFont, messageWrap+passedWrap*float64(to-from-1))
	return distance{from, to, blockWidth(m.text, edgeFont.size) + 36}
}

func (n *note) width() float64 { return math.Ceil(blockWidth(n.text, edgeFont.size)) + 20 }

func (n *note) wishes() []distance {
	i, j := n.first.index, n.last.index
	n.text = wrap(n.text, edgeFont, noteWrap+passedWrap*float64(j-i))
	switch {
	case n.side == leftOf:
		return []distance{{i - 1, i, n.width() + 26}}
	case n.side == rightOf:
		return []distance{{i, i + 1, n.width() + 26}}
	case i == j:
		return []distance{{i - 1, i, n.width()/2 + 14}, {i, i + 1, n.width()/2 + 14}}
	}
	return []distance{{i, j, n.width() - 2*noteOver}}
}

// span tells where a note stands between left and right.
func (n *note) span() (left, right float64) {
	switch w := n.width(); {
	case n.side == leftOf:
		return n.first.x - 12 - w, n.first.x - 12
	case n.side == rightOf:
		return n.first.x + 12, n.first.x + 12 + w
	case n.first == n.last:
		return n.first.x - w/2, n.first.x + w/2
	}
	return n.first.x - noteOver, n.last.x + noteOver
}

func (m *message) span() (left, right float64) {
	left, right = min(m.from.x, m.to.x)-barWidth, max(m.from.x, m.to.x)+barWidth
	if m.from == m.to {
		right += loopWidth + 8 + blockWidth(m.text, edgeFont.size)
	}
	return left, right
}

// frames decides how wide each block's frame is: as wide as what is in it, and
// wide enough for its kind and condition.
func frames(items []item) (left, right float64) {
	left, right = math.Inf(1), math.Inf(-1)
	for _, i := range items {
		l, r := math.Inf(1), math.Inf(-1)
		switch i := i.(type) {
		case *message:
			l, r = i.span()
		case *note:
			l, r = i.span()
		case *block:
			i.frame()
			l, r = i.left, i.right
		}
		left, right = min(left, l), max(right, r)
	}
	return left, right
}

func (b *block) frame() {
	b.left, b.right = math.Inf(1), math.Inf(-1)
	for _, s := range b.sections {
		l, r := frames(s.items)
		b.left, b.right = min(b.left, l), max(b.right, r)
	}
	if b.left > b.right { // only activations in it
		b.left, b.right = 0, 0
	}
	b.left, b.right = b.left-frameGap, b.right+frameGap

	for i, s := range b.sections {
		indent := 10.0
		if i == 0 {
			indent += b.tabWidth()
		}
		room := math.Max(b.right-b.left-indent-20, 100)
		s.text = wrap(bracketed(s.text), edgeFont, room)
		b.right = math.Max(b.right, b.left+indent+blockWidth(s.text, edgeFont.size)+20)
	}
}

func (b *block) tabWidth() float64 { return math.Ceil(textWidth(b.kind, edgeFont.size)) + 20 }

// bracketed puts a condition into brackets, as UML does.
func bracketed(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	out := slices.Clone(lines)
	out[0] = "[" + out[0]
	out[len(out)-1] += "]"
	return out
}
