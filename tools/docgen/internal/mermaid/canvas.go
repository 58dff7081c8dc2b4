package mermaid

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

type point struct{ x, y float64 }

func (p point) add(q point) point          { return point{p.x + q.x, p.y + q.y} }
func (p point) sub(q point) point          { return point{p.x - q.x, p.y - q.y} }
func (p point) times(f float64) point      { return point{p.x * f, p.y * f} }
func (p point) length() float64            { return math.Hypot(p.x, p.y) }
func (p point) String() string             { return num(p.x) + "," + num(p.y) }
func middle(p, q point) point              { return p.add(q).times(0.5) }
func boxAt(c point, w, h float64) box      { return box{c.x - w/2, c.y - h/2, c.x + w/2, c.y + h/2} }
func normal(p point, length float64) point { return point{-p.y, p.x}.times(length) }

// unit is the direction of p; for a point without one it is downwards.
func (p point) unit() point {
	if l := p.length(); l > 0 {
		return p.times(1 / l)
	}
	return point{0, 1}
}

type box struct{ x0, y0, x1, y1 float64 }

func (b box) width() float64        { return b.x1 - b.x0 }
func (b box) height() float64       { return b.y1 - b.y0 }
func (b box) center() point         { return middle(point{b.x0, b.y0}, point{b.x1, b.y1}) }
func (b box) grow(by float64) box   { return box{b.x0 - by, b.y0 - by, b.x1 + by, b.y1 + by} }
func (b box) shift(by point) box    { return box{b.x0 + by.x, b.y0 + by.y, b.x1 + by.x, b.y1 + by.y} }
func (b box) contains(p point) bool { return p.x >= b.x0 && p.x <= b.x1 && p.y >= b.y0 && p.y <= b.y1 }

func (b box) union(o box) box {
	return box{min(b.x0, o.x0), min(b.y0, o.y0), max(b.x1, o.x1), max(b.y1, o.y1)}
}

// layer orders what is drawn: a later one covers an earlier one.
type layer int

const (
	backLayer  layer = iota // clusters, lifelines, frames
	lineLayer               // edges, bars
	shapeLayer              // nodes, notes, messages
	textLayer
)

// canvas collects SVG elements and the box around all of them. The bounds decide
// the viewBox, so nothing that is drawn can be cut off.
type canvas struct {
	parts  [textLayer + 1]strings.Builder
	bounds box
	empty  bool
}

func newCanvas() *canvas { return &canvas{empty: true} }

func (c *canvas) extend(b box) {
	if c.empty {
		c.bounds, c.empty = b, false
	}
	c.bounds = c.bounds.union(b)
}

func (c *canvas) writeTo(b *strings.Builder) {
	b.WriteString(`<g fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round">`)
	for l := backLayer; l < textLayer; l++ {
		b.WriteString(c.parts[l].String())
	}
	b.WriteString(`</g><g fill="currentColor" text-anchor="middle" font-size="14">`)
	b.WriteString(c.parts[textLayer].String())
	b.WriteString(`</g>`)
}

func (c *canvas) rect(l layer, class string, b box, radius float64) {
	c.extend(b)
	fmt.Fprintf(&c.parts[l], `<rect class="%s" x="%s" y="%s" width="%s" height="%s"`, class, num(b.x0), num(b.y0), num(b.width()), num(b.height()))
	if radius > 0 {
		fmt.Fprintf(&c.parts[l], ` rx="%s"`, num(radius))
	}
	c.parts[l].WriteString("/>")
}

func (c *canvas) circle(l layer, class string, center point, radius float64) {
	c.extend(boxAt(center, 2*radius, 2*radius))
	fmt.Fprintf(&c.parts[l], `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, num(center.x), num(center.y), num(radius))
}

func (c *canvas) polygon(l layer, class string, corners ...point) {
	c.extendTo(corners)
	fmt.Fprintf(&c.parts[l], `<polygon class="%s" points="%s"/>`, class, joined(corners))
}

// arrow is a filled head. Its fill is an attribute, so that it is solid without
// a style sheet too.
func (c *canvas) arrow(l layer, corners ...point) {
	c.extendTo(corners)
	fmt.Fprintf(&c.parts[l], `<polygon class="dg-arrow" fill="currentColor" stroke="none" points="%s"/>`, joined(corners))
}

// path draws data, whose points lie inside the box of hull: for a curve, the
// control points.
func (c *canvas) path(l layer, class, attributes, data string, hull ...point) {
	c.extendTo(hull)
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(&c.parts[l], `<path class="%s"%s d="%s"/>`, class, attributes, data)
}

func (c *canvas) line(l layer, class, attributes string, from, to point) {
	c.path(l, class, attributes, "M"+from.String()+"L"+to.String(), from, to)
}

// text draws lines around their centre and returns the box that they fill by
// the width table.
func (c *canvas) text(class string, center point, lines []string, f font) box {
	b := boxAt(center, blockWidth(lines, f.size), f.height(lines))
	c.spans(class, "", center.x, b, lines, f)
	return b
}

// textFrom is text that starts at left, and whose first line is at top.
func (c *canvas) textFrom(class string, left, top float64, lines []string, f font) box {
	b := box{left, top, left + blockWidth(lines, f.size), top + f.height(lines)}
	c.spans(class, ` text-anchor="start"`, left, b, lines, f)
	return b
}

func (c *canvas) spans(class, attributes string, x float64, b box, lines []string, f font) {
	c.extend(b)
	out := &c.parts[textLayer]
	fmt.Fprintf(out, `<text class="%s"%s`, class, attributes)
	if f != nodeFont {
		fmt.Fprintf(out, ` font-size="%s"`, num(f.size))
	}
	out.WriteString(">")
	for i, l := range lines {
		// 0.35 of the font's size lowers the baseline so that x-heights are centred.
		y := b.y0 + f.line*(float64(i)+0.5) + f.size*0.35
		fmt.Fprintf(out, `<tspan x="%s" y="%s">%s</tspan>`, num(x), num(y), escape(l))
	}
	out.WriteString("</text>")
}

func (c *canvas) extendTo(points []point) {
	for _, p := range points {
		c.extend(box{p.x, p.y, p.x, p.y})
	}
}

func joined(points []point) string {
	texts := make([]string, len(points))
	for i, p := range points {
		texts[i] = p.String()
	}
	return strings.Join(texts, " ")
}

// num rounds to a tenth of a pixel: small files, and the same bytes whatever the
// last bits of a float are.
func num(f float64) string {
	f = math.Round(f*10) / 10
	if f == 0 {
		f = 0 // not -0
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// escape makes text safe in elements and attributes, and drops the characters
// that XML forbids.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}
