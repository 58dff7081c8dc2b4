package mermaid

import (
	"fmt"
	"math"
	"strings"
)

// dotWriter writes one frame in Graphviz' language and reads the answer. Names
// are numbers: n3 a node, g2 a subgraph, l5 the label of an edge.
type dotWriter struct {
	chart     *chart
	frame     *group
	direction string
	labelled  bool
	out       strings.Builder
}

// write gives every node a label, if only a space: to each node without one the
// library adds one, at a third of the whole cost.
func (w *dotWriter) write() string {
	edges := w.edges()
	gap := rankGap
	if w.labelled {
		gap = labelGap
	}
	fmt.Fprintf(&w.out, "digraph{compound=true rankdir=%s nodesep=%s ranksep=%s;node[shape=box fixedsize=true label=\" \"];edge[arrowsize=%s];\n",
		w.direction, inches(nodeGap), inches(gap), num(headLength/10))

	w.contents(w.frame)
	for _, e := range edges {
		w.edge(e)
	}
	w.out.WriteString("}")
	return w.out.String()
}

// edges of this frame; a label lies in the innermost subgraph that holds both ends.
func (w *dotWriter) edges() []*edge {
	var in []*edge
	for _, e := range w.chart.edges {
		if w.chart.frame(common(e.from.owner(), e.to.owner())) == w.frame {
			in = append(in, e)
			e.wrapLabel(w.direction)
			w.labelled = w.labelled || len(e.label) > 0 && !e.isLoop()
		}
	}
	return in
}

func (e *edge) isLoop() bool { return e.from == e.to }

func common(a, b *group) *group {
	for !b.inside(a) {
		a = a.parent
	}
	return a
}

func (w *dotWriter) contents(g *group) {
	for _, n := range g.nodes {
		fmt.Fprintf(&w.out, "n%d[width=%s height=%s%s];\n", n.index, inches(n.box.width()), inches(n.box.height()), graphvizShape[n.shape])
	}
	for _, e := range w.chart.edges {
		if len(e.label) > 0 && !e.isLoop() && common(e.from.owner(), e.to.owner()) == g {
			fmt.Fprintf(&w.out, "l%d[width=%s height=%s];\n", e.index, inches(e.labelWidth()), inches(e.labelHeight()))
		}
	}
	for _, child := range g.groups {
		if child.apart {
			fmt.Fprintf(&w.out, "g%d[width=%s height=%s];\n", child.index, inches(child.box.width()), inches(child.box.height()))
			continue
		}
		fmt.Fprintf(&w.out, "subgraph cluster_g%d{margin=%s labeljust=l %s;\n", child.index, num(clusterGap), child.reserve())
		w.contents(child)
		w.out.WriteString("}\n")
	}
}

// reserve makes room for the title: Graphviz measures text in Courier by a
// table, six tenths of the font's size per character.
func (g *group) reserve() string {
	g.title = wrap(g.title, edgeFont, nodeWrap)
	return reserve(blockWidth(g.title, edgeFont.size)+8, edgeFont.height(g.title))
}

func reserve(width, height float64) string {
	size := height / 1.2
	return fmt.Sprintf(`fontname=Courier fontsize=%s label="%s"`, num(size), strings.Repeat("x", int(math.Ceil(width/(0.6*size)))))
}

func (e *edge) labelWidth() float64  { return math.Ceil(blockWidth(e.label, edgeFont.size)) + 8 }
func (e *edge) labelHeight() float64 { return edgeFont.height(e.label) + 4 }

// Ports by direction: where a line enters a label, and where it leaves it.
var ports = map[string][2]string{"TB": {"n", "s"}, "BT": {"s", "n"}, "LR": {"w", "e"}, "RL": {"e", "w"}}

// edge writes an edge: one line, or two with the label as a node between them.
// The label stands in the line, so that nobody wonders which line it belongs to.
func (w *dotWriter) edge(e *edge) {
	tail, head := e.from, e.to
	tailTip, headTip := e.tail, e.head
	if e.turned {
		tail, head = head, tail
		tailTip, headTip = headTip, tailTip
	}
	from, fromClip := w.endName(tail, true, "ltail")
	to, toClip := w.endName(head, false, "lhead")

	first, second := 2*e.index, 2*e.index+1 // the halves, from the edge's own start on
	if e.turned {
		first, second = second, first
	}

	length := e.length
	if w.labelled && len(e.label) == 0 {
		length *= 2 // as far as an edge with a label, so that ranks agree
	}
	if len(e.label) == 0 || e.isLoop() {
		label := ""
		if len(e.label) > 0 {
			label = reserve(e.labelWidth(), e.labelHeight())
		}
		fmt.Fprintf(&w.out, "%s->%s[id=%d minlen=%d %s %s%s%s];\n", from, to, 2*e.index, length, ends(tailTip, headTip), label, fromClip, toClip)
		return
	}
	port := ports[w.direction]
	fmt.Fprintf(&w.out, "%s->l%d:%s[id=%d minlen=%d %s%s];\n", from, e.index, port[0], first, length, ends(tailTip, noTip), fromClip)
	fmt.Fprintf(&w.out, "l%d:%s->%s[id=%d minlen=%d %s%s];\n", e.index, port[1], to, second, length, ends(noTip, headTip), toClip)
}

func (w *dotWriter) endName(e end, leaves bool, clip string) (name, attribute string) {
	switch {
	case e.node != nil:
		return fmt.Sprintf("n%d", e.node.index), ""
	case e.group.apart:
		return fmt.Sprintf("g%d", e.group.index), ""
	}
	anchor := w.chart.anchor(e, leaves)
	attribute = fmt.Sprintf(" %s=cluster_g%d", clip, e.group.index)
	if f := w.chart.frame(anchor.owner); f != w.frame {
		return fmt.Sprintf("g%d", w.visible(f).index), attribute
	}
	return fmt.Sprintf("n%d", anchor.index), attribute
}

// visible is the subgraph around g that this frame shows as a box.
func (w *dotWriter) visible(g *group) *group {
	for w.chart.frame(g.parent) != w.frame {
		g = w.chart.frame(g.parent)
	}
	return g
}

// ends asks Graphviz to keep room for the heads; they are drawn by this package.
func ends(tail, head tip) string {
	names := map[bool]string{true: "normal", false: "none"}
	return fmt.Sprintf("dir=both arrowtail=%s arrowhead=%s", names[tail != noTip], names[head != noTip])
}

func inches(pixels float64) string { return fmt.Sprintf("%.4f", pixels/72) }

func (e *edge) wrapLabel(dir string) {
	limit := edgeWrap
	if dir == "LR" || dir == "RL" {
		limit = edgeWrapAcross
	}
	e.label = wrap(e.label, edgeFont, limit)
}
