package mermaid

// sequence is a sequence diagram: its participants, and its items in order.
type sequence struct {
	participants []*participant
	items        []item
}

type participant struct {
	id     string
	index  int
	figure bool // drawn as a person
	label  []string
	width  float64
	x      float64   // of the lifeline
	active []float64 // where the open bars begin, while drawing
}

// item is a *message, *note, *block, *bar or *numbering.
type item any

type message struct {
	line     int
	from, to *participant
	dashed   bool
	head     head
	text     []string
	starts   bool // activates the receiver
	ends     bool // deactivates the sender
}

type head int

const (
	noHead    head = iota // -> -->
	fullHead              // ->> -->>
	crossHead             // -x --x
	openHead              // -) --)
)

type side int

const (
	over side = iota
	leftOf
	rightOf
)

type note struct {
	side        side
	first, last *participant // the same one, but for over A,B
	text        []string
}

// bar starts or ends an activation in a statement of its own.
type bar struct {
	line   int
	of     *participant
	starts bool
}

// numbering is autonumber.
type numbering struct {
	on          bool
	start, step int
}

// block is alt, opt, loop, par, critical or break.
type block struct {
	kind     string
	line     int
	sections []*section
	left     float64 // of the frame, once the columns are placed
	right    float64
}

type section struct {
	text  []string // may be nil
	items []item
}
