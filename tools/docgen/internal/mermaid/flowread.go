package mermaid

import (
	"strconv"
	"strings"
)

// read takes the positions over and returns the frame's size. A subgraph that
// was laid out apart moves to its place with all that is in it.
func (w *dotWriter) read(p *placed) point {
	f := flip{}
	whole := floats(p.BB)
	if len(whole) == 4 {
		f.height = whole[3]
	}

	for _, o := range p.Objects {
		index, err := strconv.Atoi(strings.TrimLeft(o.Name, "abcdefghijklmnopqrstuvwxyz_"))
		if err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(o.Name, "n"):
			n := w.chart.nodes[index]
			n.box = boxAt(f.point(o.Pos), n.box.width(), n.box.height())
		case strings.HasPrefix(o.Name, "l"):
			e := w.chart.edges[index]
			e.labelAt = f.point(o.Pos)
		case strings.HasPrefix(o.Name, "cluster"):
			w.chart.groups[index].setBox(f.box(o.BB))
		case strings.HasPrefix(o.Name, "g"):
			w.move(w.chart.groups[index], f.point(o.Pos))
		}
	}
	w.readEdges(p, f)

	if w.frame == w.chart.root || len(whole) != 4 {
		return point{}
	}
	return w.enclose(box{0, 0, whole[2], whole[3]})
}

func (w *dotWriter) readEdges(p *placed, f flip) {
	for _, placedEdge := range p.Edges {
		index, err := strconv.Atoi(placedEdge.ID)
		if err != nil {
			continue
		}
		e := w.chart.edges[index/2]
		s := f.spline(placedEdge.Pos)
		if e.turned {
			s = s.reversed()
		}
		e.strokes[index%2] = s
		if e.isLoop() {
			e.labelAt = f.point(placedEdge.LP)
		}
	}
}

// setBox puts the title into the upper left corner.
func (g *group) setBox(b box) {
	g.box = b
	width, height := blockWidth(g.title, edgeFont.size), edgeFont.height(g.title)
	g.titleBox = box{b.x0 + 10, b.y0 + 6, b.x0 + 10 + width, b.y0 + 6 + height}
}

// enclose gives a frame that was laid out apart its margin and its title.
func (w *dotWriter) enclose(contents box) point {
	g := w.frame
	g.title = wrap(g.title, edgeFont, nodeWrap)
	top := clusterGap + edgeFont.height(g.title) + 4
	w.shift(g, point{clusterGap, top})
	width := max(contents.width(), blockWidth(g.title, edgeFont.size))
	return point{width + 2*clusterGap, contents.height() + top + clusterGap}
}

func (w *dotWriter) move(g *group, center point) {
	corner := center.sub(point{g.box.width() / 2, g.box.height() / 2})
	size := g.box
	g.setBox(size.shift(corner))
	w.shift(g, corner)
}

// shift moves what lies in a subgraph, but not its own frame.
func (w *dotWriter) shift(g *group, by point) {
	for _, n := range w.chart.nodes {
		if n.owner.inside(g) {
			n.box = n.box.shift(by)
		}
	}
	for _, inner := range w.chart.groups {
		if inner != g && inner.inside(g) {
			inner.box, inner.titleBox = inner.box.shift(by), inner.titleBox.shift(by)
		}
	}
	for _, e := range w.chart.edges {
		if e.from.owner().inside(g) && e.to.owner().inside(g) {
			e.shift(by)
		}
	}
}

func (e *edge) shift(by point) {
	e.labelAt = e.labelAt.add(by)
	for i := range e.strokes {
		s := &e.strokes[i]
		s.tail, s.head = s.tail.add(by), s.head.add(by)
		for j := range s.points {
			s.points[j] = s.points[j].add(by)
		}
	}
}
