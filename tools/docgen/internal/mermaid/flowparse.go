package mermaid

import (
	"regexp"
	"strings"
)

// Limits of a flowchart. That of the edges is Mermaid's own on GitHub; beyond the
// others nobody could read the picture, and Graphviz would take its time, or
// leave its one memory in disorder.
const (
	maxEdges  = 500
	maxNodes  = 200
	maxDepth  = 6
	maxLength = 6
)

var (
	flowHeader  = regexp.MustCompile(`^(TB|TD|BT|LR|RL)?\s*(?:;(.*))?$`)
	direction   = regexp.MustCompile(`^direction\s+(TB|BT|LR|RL)\s*;?$`)
	directionIn = regexp.MustCompile(`direction\s+(?:TB|TD|BT|LR|RL)`)
	flowKeyword = regexp.MustCompile(`^(classDef|class|style|linkStyle|click|href|call|interpolate)(?:\s|$)`)
	subgraph    = regexp.MustCompile(`^subgraph(?:\s+(.*))?$`)
)

var flowMends = map[string]string{
	"classDef":    "remove it: the page decides the colours",
	"class":       "remove it: the page decides the colours",
	"style":       "remove it: the page decides the colours",
	"linkStyle":   "remove it; for emphasis use ==> or -.->",
	"click":       "remove it, and put the link into the article's text",
	"href":        "remove it, and put the link into the article's text",
	"call":        "choose another id",
	"interpolate": "choose another id",
}

// flowParser reads statements line by line. A statement never spans lines here:
// Mermaid allows it in a few places, and it is nowhere needed.
type flowParser struct {
	doc   *document
	chart *chart
	group *group // the innermost open subgraph, or the root
	byID  map[string]*node
}

func parseFlow(doc *document) *chart {
	root := &group{}
	c := &chart{direction: "TB", root: root}
	p := &flowParser{doc: doc, chart: c, group: root, byID: map[string]*node{}}

	m := flowHeader.FindStringSubmatch(doc.header)
	if m == nil {
		doc.fault(doc.headerLine, "%q is no direction; use TD, TB, BT, LR or RL, and start the first statement in a new line", doc.header)
	} else {
		if m[1] != "" && m[1] != "TD" {
			c.direction = m[1]
		}
		p.statements(line{doc.headerLine, strings.TrimSpace(m[2])})
	}

	for _, l := range doc.lines {
		p.line(l)
	}
	for g := p.group; g != root; g = g.parent {
		doc.fault(g.line, "this subgraph has no end; add a line end behind its last statement")
	}
	if len(doc.errs) == 0 {
		p.resolve()
	}
	return c
}

func (p *flowParser) line(l line) {
	switch {
	case direction.MatchString(l.text):
		if p.group == p.chart.root {
			p.doc.fault(l.number, "direction belongs into a subgraph; for the whole chart write it behind flowchart")
			return
		}
		p.group.direction = direction.FindStringSubmatch(l.text)[1]
	case directionIn.MatchString(l.text):
		p.doc.fault(l.number, "Mermaid reads the whole line as the statement direction, which is TB, BT, LR or RL alone in its line; write it so, or word the text differently")
	case subgraph.MatchString(l.text):
		p.open(subgraph.FindStringSubmatch(l.text)[1], l.number)
	default:
		p.statements(l)
	}
}

// statements reads what one line holds: statements with ; between them.
func (p *flowParser) statements(l line) {
	c := &cursor{text: l.text, line: l.number}
	for !c.done() {
		c.skip(spaces)
		if c.take(";") || c.done() {
			continue
		}
		if err := p.statement(c); err != nil {
			p.doc.fault(l.number, "%s", err)
			return // the rest of the line cannot be told apart
		}
	}
}

func (p *flowParser) statement(c *cursor) error {
	switch word := flowKeyword.FindStringSubmatch(c.rest()); {
	case word != nil:
		return faultf("%s is outside the subset that the site draws; %s", word[1], flowMends[word[1]])
	case c.match(endWord) != "":
		if c.finish("end") != nil {
			return faultf("Mermaid reads end as the end of a subgraph; write End for a node's id, and nothing behind the end of a subgraph")
		}
		return p.close()
	}

	from, err := p.nodeList(c)
	if err != nil {
		return err
	}
	for {
		l, ok, err := c.link()
		if err != nil {
			return err
		}
		if !ok {
			return c.finish("a node")
		}
		to, err := p.nodeList(c)
		if err != nil {
			return err
		}
		if err := p.connect(from, to, l, c.line); err != nil {
			return err
		}
		from = to
	}
}

func (p *flowParser) connect(from, to []string, l link, line int) error {
	if len(p.chart.edges)+len(from)*len(to) > maxEdges {
		return faultf("the diagram has more than %d edges, which Mermaid refuses; split it", maxEdges)
	}
	for _, f := range from {
		for _, t := range to {
			p.chart.edges = append(p.chart.edges, &edge{link: l, fromID: f, toID: t, line: line, index: len(p.chart.edges)})
		}
	}
	return nil
}

// nodeList reads A & B & C.
func (p *flowParser) nodeList(c *cursor) ([]string, error) {
	var ids []string
	for {
		id, err := p.vertex(c)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		if c.match(ampersand) == "" {
			return ids, nil
		}
	}
}

func (p *flowParser) vertex(c *cursor) (string, error) {
	id, err := c.id()
	if err != nil {
		return "", err
	}
	shape, text, err := c.shape()
	if err != nil {
		return "", faultf("node %s: %s", id, err)
	}
	p.group.mentioned = append(p.group.mentioned, id)

	n, known := p.byID[id]
	if !known {
		if len(p.chart.nodes) == maxNodes {
			return "", faultf("the diagram has more than %d nodes, which nobody can read; split it", maxNodes)
		}
		n = &node{id: id, index: len(p.chart.nodes), line: c.line}
		p.byID[id] = n
		p.chart.nodes = append(p.chart.nodes, n)
	}
	if shape == bare {
		return id, nil
	}
	if n.shape != bare && (n.source != text || n.shape != shape) {
		return "", faultf("node %s has another text or shape in line %d; give it in one place only", id, n.line)
	}
	lines, err := flowLines(text)
	if err != nil {
		return "", faultf("node %s: %s", id, err)
	}
	n.shape, n.source, n.label, n.line = shape, text, lines, c.line
	return id, nil
}
