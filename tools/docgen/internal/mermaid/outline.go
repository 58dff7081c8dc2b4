package mermaid

import "math"

// Measures of the shapes, in pixels.
const (
	cylinderRim   = 6.0  // half the height of the ellipse on top
	subroutineBar = 8.0  // between the two lines at each side
	hexagonPoint  = 14.0 // how far the points stand out
	flagNotch     = 12.0
)

// graphvizShape is the shape whose outline Graphviz should end edges at. The
// others are boxes to it; meet draws the rest of the way.
var graphvizShape = map[shape]string{
	disc:    " shape=ellipse",
	diamond: " shape=diamond",
}

func (n *node) draw(c *canvas) {
	b := n.box
	switch n.shape {
	case rounded:
		c.rect(shapeLayer, "dg-node", b, 10)
	case stadium:
		c.rect(shapeLayer, "dg-node", b, b.height()/2)
	case subroutine:
		c.rect(shapeLayer, "dg-node", b, 2)
		for _, x := range []float64{b.x0 + subroutineBar, b.x1 - subroutineBar} {
			c.line(shapeLayer, "dg-trim", "", point{x, b.y0}, point{x, b.y1})
		}
	case cylinder:
		n.drawCylinder(c)
	case disc:
		c.circle(shapeLayer, "dg-node", b.center(), b.width()/2)
	case diamond:
		c.polygon(shapeLayer, "dg-node dg-decision", n.corners()...)
	case hexagon, flag:
		c.polygon(shapeLayer, "dg-node", n.corners()...)
	default:
		c.rect(shapeLayer, "dg-node", b, 3)
	}
	c.text("dg-label", n.textCenter(), n.label, nodeFont)
}

func (n *node) drawCylinder(c *canvas) {
	b := n.box
	rx, ry := num(b.width()/2), num(cylinderRim)
	top, bottom := b.y0+cylinderRim, b.y1-cylinderRim
	left, right := num(b.x0), num(b.x1)

	arc := "A" + rx + " " + ry + " 0 0 "
	body := "M" + left + "," + num(top) + arc + "1 " + right + "," + num(top) +
		"V" + num(bottom) + arc + "1 " + left + "," + num(bottom) + "Z"
	rim := "M" + left + "," + num(top) + arc + "0 " + right + "," + num(top)
	corners := []point{{b.x0, b.y0}, {b.x1, b.y1}}
	c.path(shapeLayer, "dg-node dg-store", "", body, corners...)
	c.path(shapeLayer, "dg-trim", "", rim, corners...)
}

func (n *node) textCenter() point {
	center := n.box.center()
	switch n.shape {
	case cylinder:
		center.y += cylinderRim
	case flag:
		center.x += flagNotch / 2
	}
	return center
}

// corners of the shapes with straight sides.
func (n *node) corners() []point {
	b, m := n.box, n.box.center()
	switch n.shape {
	case diamond:
		return []point{{m.x, b.y0}, {b.x1, m.y}, {m.x, b.y1}, {b.x0, m.y}}
	case hexagon:
		return []point{{b.x0 + hexagonPoint, b.y0}, {b.x1 - hexagonPoint, b.y0}, {b.x1, m.y},
			{b.x1 - hexagonPoint, b.y1}, {b.x0 + hexagonPoint, b.y1}, {b.x0, m.y}}
	case flag:
		return []point{{b.x0, b.y0}, {b.x1, b.y0}, {b.x1, b.y1}, {b.x0, b.y1}, {b.x0 + flagNotch, m.y}}
	default:
		return []point{{b.x0, b.y0}, {b.x1, b.y0}, {b.x1, b.y1}, {b.x0, b.y1}}
	}
}

// covers tells whether p lies in the shape.
func (n *node) covers(p point) bool {
	b, m := n.box, n.box.center()
	if !b.contains(p) {
		return false
	}
	switch n.shape {
	case disc:
		return p.sub(m).length() <= b.width()/2
	case rounded:
		return inRounded(p, b, 10)
	case stadium:
		return inRounded(p, b, b.height()/2)
	case cylinder:
		dx := (p.x - m.x) / (b.width() / 2)
		lift := cylinderRim * (1 - math.Sqrt(max(0, 1-dx*dx)))
		return p.y >= b.y0+lift && p.y <= b.y1-lift
	default:
		return inPolygon(p, n.corners())
	}
}

func inRounded(p point, b box, radius float64) bool {
	nearest := point{
		min(max(p.x, b.x0+radius), b.x1-radius),
		min(max(p.y, b.y0+radius), b.y1-radius),
	}
	return p.sub(nearest).length() <= radius
}

// inPolygon counts the sides that a ray to the right crosses.
func inPolygon(p point, corners []point) bool {
	in := false
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		if (a.y > p.y) != (b.y > p.y) && p.x <= a.x+(p.y-a.y)/(b.y-a.y)*(b.x-a.x) {
			in = !in
		}
	}
	return in
}

// meet tells how far a line that ends at p, in direction d, has to go on until
// it touches the shape. It is zero where Graphviz knew the outline.
func (n *node) meet(p, d point) float64 {
	const step, reach = 0.25, 40
	for t := 0.0; t <= reach; t += step {
		if n.covers(p.add(d.times(t + step))) {
			return t
		}
	}
	return 0
}
