package mermaid

import "math"

// Widths at which labels wrap, in pixels. They keep a diagram legible on a
// narrow page; across, where every label adds to the width, they are smaller.
const (
	nodeWrap       = 190.0
	decisionWrap   = 120.0
	edgeWrap       = 140.0
	edgeWrapAcross = 110.0
)

const (
	nodeGap    = 26.0 // between neighbours
	rankGap    = 44.0 // between ranks without labels
	labelGap   = 22.0 // between a rank and the labels on the edges to the next
	clusterGap = 14.0 // between a subgraph's frame and what is in it
	headLength = 9.0
)

// layout places everything and returns an error only where Graphviz fails.
func (c *chart) layout() error {
	for _, n := range c.nodes {
		c.measure(n)
	}
	c.separate(c.root, c.direction)
	c.turnCycles()
	if _, err := c.place(c.root, c.direction); err != nil {
		return err
	}
	for _, e := range c.edges {
		if !e.routed() {
			return faultf("graphviz found no way for the edge of line %d", e.line)
		}
	}
	return nil
}

// routed tells whether every piece of the line came back: an edge that is missing
// from the picture is worse than no picture.
func (e *edge) routed() bool {
	pieces := 1
	if len(e.label) > 0 && !e.isLoop() {
		pieces = 2
	}
	for _, s := range e.strokes[:pieces] {
		if len(s.points) < 4 {
			return false
		}
	}
	return true
}

// separate finds the subgraphs whose own direction counts. As in Mermaid, it
// does not where an edge crosses the frame: the parent's direction holds then.
func (c *chart) separate(g *group, dir string) {
	for _, child := range g.groups {
		own := child.direction
		child.apart = own != "" && own != dir && !c.crossed(child)
		if child.apart {
			c.separate(child, own)
		} else {
			c.separate(child, dir)
		}
	}
}

func (c *chart) crossed(g *group) bool {
	for _, e := range c.edges {
		if e.from.owner().inside(g) != e.to.owner().inside(g) {
			return true
		}
	}
	return false
}

// frame is the innermost graph of its own around g: the root, or a subgraph
// that is laid out apart.
func (c *chart) frame(g *group) *group {
	for g != c.root && !g.apart {
		g = g.parent
	}
	return g
}

// turnCycles marks the edges that close a cycle. Graphviz would turn them too,
// but each of the two halves of a labelled edge for itself, and then the label
// lands below everything.
func (c *chart) turnCycles() {
	out := make([][]*edge, len(c.nodes))
	for _, e := range c.edges {
		from := c.anchor(e.from, true)
		out[from.index] = append(out[from.index], e)
	}

	const active, done = 1, 2
	state := make([]int, len(c.nodes))
	var visit func(n *node)
	visit = func(n *node) {
		state[n.index] = active
		for _, e := range out[n.index] {
			to := c.anchor(e.to, false)
			switch {
			case to == n:
			case state[to.index] == active:
				e.turned = true
			case state[to.index] == 0:
				visit(to)
			}
		}
		state[n.index] = done
	}
	for _, n := range c.nodes {
		if state[n.index] == 0 {
			visit(n)
		}
	}
}

// anchor is the node that stands for an end: in a subgraph its last node for an
// edge that leaves, and its first for one that enters.
func (c *chart) anchor(e end, leaves bool) *node {
	if e.node != nil {
		return e.node
	}
	var found *node
	for _, n := range c.nodes {
		if n.owner.inside(e.group) && (found == nil || leaves) {
			found = n
		}
	}
	return found
}

// place lays out one frame and returns its size. What lies in it is placed
// relative to its top left corner.
func (c *chart) place(g *group, dir string) (point, error) {
	w := &dotWriter{chart: c, frame: g, direction: dir}
	for _, child := range c.groups {
		if child.apart && c.frame(child.parent) == g {
			size, err := c.place(child, child.direction)
			if err != nil {
				return point{}, err
			}
			child.box = box{0, 0, size.x, size.y}
		}
	}

	answer, err := layouter.layout(w.write())
	if err != nil {
		return point{}, err
	}
	return w.read(answer), nil
}

// measure wraps a node's label and decides the size of its shape.
func (c *chart) measure(n *node) {
	limit := nodeWrap
	if n.shape == diamond || n.shape == disc || n.shape == hexagon {
		limit = decisionWrap
	}
	n.label = wrap(n.label, nodeFont, limit)
	tw, th := blockWidth(n.label, nodeFont.size), nodeFont.height(n.label)
	w, h := math.Max(tw+32, 48), th+18

	switch n.shape {
	case stadium:
		w += h / 3
	case subroutine:
		w += 2 * subroutineBar
	case cylinder:
		h += 3 * cylinderRim
	case disc:
		w = math.Hypot(tw, th) + 12
		h = w
	case diamond:
		// A text of tw × th fits where tw/w + th/h ≤ 1.
		grow := math.Min(2, 1.4+0.2*float64(len(n.label)))
		w = (tw + 8) * grow
		h = (th + 6) * grow / (grow - 1)
	case hexagon:
		w += 2 * hexagonPoint
	case flag:
		w += flagNotch
	}
	n.box = box{0, 0, math.Ceil(w), math.Ceil(h)}
}
