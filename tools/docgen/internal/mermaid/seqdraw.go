package mermaid

import (
	"fmt"
	"math"
	"strconv"
)

// sequencePen draws from top to bottom. Lifelines come last but lie behind
// everything: they have gaps where a text or a note stands, so that no line
// runs through a word.
type sequencePen struct {
	*canvas
	seq      *sequence
	y        float64
	lastLine float64 // y of the newest message
	gaps     []box
	frames   []box // outer before inner
	number   numbering
}

// Longer diagrams repeat the participants at the bottom.
const repeatFrom = 420.0

func (s *sequence) draw() *canvas {
	s.columns()
	frames(s.items)

	p := &sequencePen{canvas: newCanvas(), seq: s}
	height := 0.0
	for _, a := range s.participants {
		height = math.Max(height, a.height())
	}
	for _, a := range s.participants {
		a.draw(p.canvas, height)
	}
	p.y, p.lastLine = height+4, height+4

	p.items(s.items)
	p.y += rowGap
	p.background(height)
	if p.y > repeatFrom {
		for _, a := range s.participants {
			a.draw(p.canvas, p.y+a.height())
		}
	}
	return p.canvas
}

func (p *sequencePen) background(top float64) {
	for _, f := range p.frames {
		p.rect(backLayer, "dg-frame", f, 2)
	}
	for _, a := range p.seq.participants {
		from := top
		for _, g := range p.gaps { // in the order of y, since all was drawn downwards
			if a.x > g.x0-3 && a.x < g.x1+3 && g.y0 >= from {
				p.line(backLayer, "dg-life", `stroke-dasharray="4 4"`, point{a.x, from}, point{a.x, g.y0})
				from = g.y1
			}
		}
		p.line(backLayer, "dg-life", `stroke-dasharray="4 4"`, point{a.x, from}, point{a.x, p.y})
	}
}

func (p *sequencePen) items(items []item) {
	for _, i := range items {
		switch i := i.(type) {
		case *message:
			p.message(i)
		case *note:
			p.note(i)
		case *block:
			p.block(i)
		case *bar:
			if i.starts {
				p.start(i.of, p.lastLine)
			} else {
				p.end(i.of, p.lastLine)
			}
		case *numbering:
			p.number = *i
		}
	}
}

func (a *participant) height() float64 {
	height := nodeFont.height(a.label) + 16
	if a.figure {
		height += figureHeight - 8
	}
	return height
}

const figureHeight = 40.0

// draw draws a participant so that it ends at bottom.
func (a *participant) draw(c *canvas, bottom float64) {
	b := box{a.x - a.width/2, bottom - a.height(), a.x + a.width/2, bottom}
	if !a.figure {
		c.rect(shapeLayer, "dg-actor", b, 3)
		c.text("dg-label", b.center(), a.label, nodeFont)
		return
	}

	head := point{a.x, b.y0 + 8}
	c.circle(shapeLayer, "dg-actor", head, 7)
	neck, hip := head.y+7, head.y+20
	d := fmt.Sprintf("M%s,%sV%sM%s,%sH%sM%s,%sL%s,%sL%s,%s", num(a.x), num(neck), num(hip),
		num(a.x-11), num(neck+5), num(a.x+11),
		num(a.x-9), num(hip+11), num(a.x), num(hip), num(a.x+9), num(hip+11))
	c.path(shapeLayer, "dg-actor", "", d, point{a.x - 11, neck}, point{a.x + 11, hip + 11})
	height := nodeFont.height(a.label)
	c.text("dg-label", point{a.x, bottom - 4 - height/2}, a.label, nodeFont)
}

// edge is where a line from or to a participant ends: at its bars, if any.
func (a *participant) edge(bars int, onRight bool) float64 {
	switch {
	case bars == 0:
		return a.x
	case onRight:
		return a.x + barWidth/2 + float64(bars-1)*barStep
	}
	return a.x - barWidth/2
}

func (p *sequencePen) start(a *participant, y float64) {
	a.active = append(a.active, y)
}

func (p *sequencePen) end(a *participant, y float64) {
	level := len(a.active) - 1
	from := a.active[level]
	a.active = a.active[:level]

	left := a.x - barWidth/2 + float64(level)*barStep
	y = math.Max(y, from+barWidth)
	p.rect(lineLayer, "dg-bar", box{left, from, left + barWidth, y}, 0)
	p.y = math.Max(p.y, y)
}

func (p *sequencePen) note(n *note) {
	p.y += rowGap
	left, right := n.span()
	b := box{left, p.y, right, p.y + edgeFont.height(n.text) + 12}
	p.rect(shapeLayer, "dg-note", b, 2)
	p.text("dg-label", b.center(), n.text, edgeFont)
	p.gaps = append(p.gaps, b)
	p.y = b.y1
}

func (p *sequencePen) block(b *block) {
	p.y += rowGap
	at := len(p.frames)
	p.frames = append(p.frames, box{b.left, p.y, b.right, p.y})
	p.tab(b)

	for i, s := range b.sections {
		indent := 10.0
		if i == 0 {
			indent += b.tabWidth()
		} else {
			p.y += rowGap
			p.line(lineLayer, "dg-divider", `stroke-dasharray="5 4"`, point{b.left, p.y}, point{b.right, p.y})
		}
		height := tabHeight
		if len(s.text) > 0 {
			text := p.textFrom("dg-frame-label", b.left+indent, p.y+2, s.text, edgeFont)
			p.rect(shapeLayer, "dg-back", box{text.x0 - 3, text.y0, text.x1 + 3, text.y1}, 0)
			p.gaps = append(p.gaps, text)
			height = math.Max(height, text.height()+4)
		}
		p.y += height
		p.lastLine = p.y
		p.items(s.items)
	}
	p.y += rowGap
	p.frames[at].y1 = p.y
}

// tab is the corner of a frame that names its kind.
func (p *sequencePen) tab(b *block) {
	w, cut := b.tabWidth(), 6.0
	corner := box{b.left, p.y, b.left + w, p.y + tabHeight}
	p.polygon(shapeLayer, "dg-tab", point{corner.x0, corner.y0}, point{corner.x1, corner.y0},
		point{corner.x1, corner.y1 - cut}, point{corner.x1 - cut, corner.y1}, point{corner.x0, corner.y1})
	p.text("dg-frame-label", corner.center(), []string{b.kind}, edgeFont)
	p.gaps = append(p.gaps, corner)
}

// disc draws the number of a message and tells how much room it takes.
func (p *sequencePen) disc(at point) float64 {
	if !p.number.on {
		return 0
	}
	text := strconv.Itoa(p.number.start)
	p.number.start += p.number.step
	radius := math.Max(discRadius, textWidth(text, numberFont.size)/2+3)
	p.circle(shapeLayer, "dg-number", at, radius)
	p.text("dg-number-label", at, []string{text}, numberFont)
	return radius
}
