package mermaid

// chart is a flowchart: what its source says, and then where Graphviz put it.
type chart struct {
	direction string // TB, BT, LR or RL
	root      *group // the whole chart; no title, no parent
	nodes     []*node
	groups    []*group
	edges     []*edge
}

type shape int

const (
	bare       shape = iota // never given a shape: a rectangle with the id as its text
	rectangle               // [ ]
	rounded                 // ( )
	stadium                 // ([ ])
	subroutine              // [[ ]]
	cylinder                // [( )]
	disc                    // (( ))
	diamond                 // { }
	hexagon                 // {{ }}
	flag                    // > ]
)

type node struct {
	id     string
	index  int // in chart.nodes
	line   int
	shape  shape
	source string   // its label as written; "" before one was
	label  []string // wrapped
	owner  *group
	box    box
}

// group is a subgraph.
type group struct {
	id        string
	index     int // in chart.groups
	line      int
	title     []string
	direction string // "" when the source gives none
	parent    *group
	groups    []*group
	nodes     []*node
	mentioned []string // ids in the order of the source, until the parser knows their owners
	apart     bool     // laid out on its own, in its own direction
	box       box
	titleBox  box
}

func (g *group) depth() int {
	depth := 0
	for ; g.parent != nil; g = g.parent {
		depth++
	}
	return depth
}

func (g *group) inside(outer *group) bool {
	for ; g != nil; g = g.parent {
		if g == outer {
			return true
		}
	}
	return false
}

// end of an edge: a node or a subgraph.
type end struct {
	node  *node
	group *group
}

func (e end) owner() *group {
	if e.node != nil {
		return e.node.owner
	}
	return e.group.parent
}

type tip int

const (
	noTip tip = iota
	arrowTip
	circleTip
	crossTip
)

type stroke int

const (
	solid stroke = iota
	dotted
	thick
)

type link struct {
	stroke     stroke
	tail, head tip
	length     int // 1 for -->, 2 for --->, …
	label      []string
}

type edge struct {
	link
	from, to end
	fromID   string
	toID     string
	line     int
	index    int
	turned   bool      // laid out from to to from, since it closes a cycle
	strokes  [2]spline // the second one only with a label between them
	labelAt  point
}
