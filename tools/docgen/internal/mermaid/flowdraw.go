package mermaid

import "strings"

func (c *chart) draw(doc *document) *canvas {
	if err := c.layout(); err != nil {
		doc.fault(doc.headerLine, "the diagram cannot be laid out; make it smaller (%s)", err)
		return nil
	}

	out := newCanvas()
	for _, g := range c.groups { // outer ones come first
		out.rect(backLayer, "dg-cluster", g.box, 4)
	}
	for _, e := range c.edges {
		e.draw(out)
	}
	for _, g := range c.groups {
		out.rect(lineLayer, "dg-back", g.titleBox.grow(2), 0)
		out.textFrom("dg-cluster-title", g.titleBox.x0, g.titleBox.y0, g.title, edgeFont)
	}
	for _, n := range c.nodes {
		n.draw(out)
	}
	return out
}

func (e *edge) draw(c *canvas) {
	first, last := &e.strokes[0], e.last()
	e.from.lengthen(first, true)
	e.to.lengthen(last, false)

	e.curve(c, *first)
	if last != first {
		e.curve(c, *last)
	}
	if first.hasTail {
		drawTip(c, e.tail, first.points[0], first.tail)
	}
	if last.hasHead {
		drawTip(c, e.head, last.points[len(last.points)-1], last.head)
	}
	if len(e.label) > 0 {
		c.text("dg-edge-label", e.labelAt, e.label, edgeFont)
	}
}

// last is the line that ends at the edge's head.
func (e *edge) last() *spline {
	if len(e.strokes[1].points) > 0 {
		return &e.strokes[1]
	}
	return &e.strokes[0]
}

// lengthen draws a line on to the outline of the node that it belongs to.
func (e end) lengthen(s *spline, atTail bool) {
	if e.node == nil {
		return
	}
	if atTail {
		r := s.reversed()
		e.lengthen(&r, false)
		*s = r.reversed()
		return
	}

	last := s.points[len(s.points)-1]
	tip, from := last, s.points[len(s.points)-2]
	if s.hasHead {
		tip, from = s.head, last
	}
	d := tip.sub(from).unit()
	if by := e.node.meet(tip, d); by > 0 {
		on := d.times(by)
		s.head = s.head.add(on)
		s.points = append(s.points, last.add(on.times(1.0/3)), last.add(on.times(2.0/3)), last.add(on))
	}
}

// curve draws a Bézier path: a start, and three points for each piece.
func (e *edge) curve(c *canvas, s spline) {
	class, attributes := "dg-edge", ""
	switch e.stroke {
	case dotted:
		class, attributes = "dg-edge dg-dotted", `stroke-dasharray="2 4"`
	case thick:
		class, attributes = "dg-edge dg-thick", `stroke-width="3"`
	}
	var d strings.Builder
	d.WriteString("M" + s.points[0].String() + "C")
	d.WriteString(joined(s.points[1:]))
	c.path(lineLayer, class, attributes, d.String(), s.points...)
}

// drawTip draws what stands between the end of a line and the node.
func drawTip(c *canvas, t tip, base, head point) {
	along := head.sub(base)
	switch t {
	case arrowTip:
		side := normal(along.unit(), headLength*0.45)
		c.arrow(lineLayer, head, base.add(side), base.sub(side))
	case circleTip:
		c.circle(lineLayer, "dg-tip", middle(base, head), along.length()/2)
	case crossTip:
		m, r := middle(base, head), headLength*0.45
		side := normal(along.unit(), r)
		fore := along.unit().times(r)
		a, b := m.add(fore).add(side), m.sub(fore).sub(side)
		p, q := m.add(fore).sub(side), m.sub(fore).add(side)
		c.path(lineLayer, "dg-tip", "", "M"+a.String()+"L"+b.String()+"M"+p.String()+"L"+q.String(), a, b, p, q)
		c.line(lineLayer, "dg-edge", "", base, head)
	}
}
