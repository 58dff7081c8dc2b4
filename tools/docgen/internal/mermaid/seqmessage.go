package mermaid

import "math"

func (p *sequencePen) message(m *message) {
	if m.from == m.to {
		p.selfMessage(m)
		return
	}

	right := m.to.index > m.from.index
	p.y += rowGap + edgeFont.height(m.text) + 4
	y := p.y
	receiving := len(m.to.active)
	if m.starts {
		receiving++
		p.start(m.to, y)
	}
	from := point{m.from.edge(len(m.from.active), right), y}
	to := point{m.to.edge(receiving, !right), y}

	text := p.canvas.text("dg-edge-label", point{(from.x + to.x) / 2, y - 4 - edgeFont.height(m.text)/2}, m.text, edgeFont)
	p.gaps = append(p.gaps, text)

	toward := math.Copysign(1, to.x-from.x)
	from.x += toward * p.disc(from)
	p.arrow(m, "M"+from.String(), from, to, point{toward, 0})
	if m.ends {
		p.end(m.from, y)
	}
	p.lastLine = y
}

// selfMessage is a loop at the right of its lifeline, with the text beside it.
func (p *sequencePen) selfMessage(m *message) {
	height := math.Max(loopHeight, edgeFont.height(m.text))
	p.y += rowGap
	top := p.y + (height-loopHeight)/2
	p.y = top + loopHeight + (height-loopHeight)/2
	bottom := top + loopHeight

	from := point{m.from.edge(len(m.from.active), true), top}
	bars := len(m.to.active)
	if m.starts {
		bars++
		p.start(m.to, bottom)
	}
	to := point{m.to.edge(bars, true), bottom}

	turn := math.Max(from.x, to.x) + loopWidth
	text := p.textFrom("dg-edge-label", turn+6, top+loopHeight/2-edgeFont.height(m.text)/2, m.text, edgeFont)
	p.gaps = append(p.gaps, text)

	from.x += p.disc(from)
	start := "M" + from.String() + "H" + num(turn-6) + "Q" + num(turn) + "," + num(top) + " " + num(turn) + "," + num(top+6) +
		"V" + num(bottom-6) + "Q" + num(turn) + "," + num(bottom) + " " + num(turn-6) + "," + num(bottom)
	p.extendTo([]point{{turn, top}})
	p.arrow(m, start, from, to, point{-1, 0})
	if m.ends {
		p.end(m.from, bottom)
	}
	p.lastLine = bottom
}

// arrow draws a message's line, which begins as start says, and its head at to.
func (p *sequencePen) arrow(m *message, start string, from, to, along point) {
	stop := to
	if m.head == fullHead {
		stop = to.sub(along.times(headLength)) // the head's tip is thinner than the line
	}
	class, attributes := "dg-edge", ""
	if m.dashed {
		class, attributes = "dg-edge dg-dotted", `stroke-dasharray="4 4"`
	}
	p.path(shapeLayer, class, attributes, start+"L"+stop.String(), from, stop)

	side := normal(along, headLength*0.5)
	switch base := to.sub(along.times(headLength)); m.head {
	case fullHead:
		p.canvas.arrow(shapeLayer, to, base.add(side), base.sub(side))
	case openHead:
		a, b := base.add(side), base.sub(side)
		p.path(shapeLayer, "dg-tip", "", "M"+a.String()+"L"+to.String()+"L"+b.String(), a, to, b)
	case crossHead:
		a, b := base.add(side), base.sub(side)
		c, d := to.add(side), to.sub(side)
		p.path(shapeLayer, "dg-tip", "", "M"+a.String()+"L"+d.String()+"M"+b.String()+"L"+c.String(), a, b, c, d)
	}
}
