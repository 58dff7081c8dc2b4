package mermaid

import (
	"regexp"
	"strings"
)

var (
	groupWithTitle = regexp.MustCompile(`^(\S+)\s*\[(.*)\]$`)
	plainTitle     = regexp.MustCompile(`^[\pL\pN_.'!?+/:]+(?:-[\pL\pN_.'!?+/:]+)*(?: +[\pL\pN_.'!?+/:]+(?:-[\pL\pN_.'!?+/:]+)*)*$`)
	titleKeyword   = regexp.MustCompile(`(?:^|[^A-Za-z0-9_.'!?+/-])\d*(?:default|style|linkStyle|classDef|class|graph|flowchart|subgraph|end|interpolate|href|call|click|_self|_blank|_parent|_top)(?:\W|$)`)
	plainID        = regexp.MustCompile(`^[A-Za-z0-9_]+(?:[-.][A-Za-z0-9_]+)*$`)
)

// open starts a subgraph: `subgraph id [title]`, `subgraph id` or `subgraph "title"`.
func (p *flowParser) open(rest string, line int) {
	g := &group{line: line, index: len(p.chart.groups), parent: p.group}
	p.chart.groups = append(p.chart.groups, g)
	p.group.groups = append(p.group.groups, g)
	p.group = g // also with a fault, so that its end finds it

	if g.depth() > maxDepth {
		p.doc.fault(line, "subgraphs lie more than %d deep, which nobody can read; split the diagram", maxDepth)
	}
	id, title, err := groupNames(strings.TrimSpace(strings.TrimSuffix(rest, ";")))
	if err == nil && id != "" {
		err = p.claim(id)
	}
	if err == nil {
		g.id = id
		g.title, err = flowLines(title)
	}
	if err != nil {
		p.doc.fault(line, "subgraph: %s", err)
	}
}

// groupNames takes apart what follows the word subgraph. A title that is more
// than a plain word is no id: no edge can name such a subgraph.
func groupNames(rest string) (id, title string, err error) {
	if rest == "" {
		return "", "", faultf("it has no title; write subgraph id [title]")
	}
	if m := groupWithTitle.FindStringSubmatch(rest); m != nil {
		if err := checkID(m[1]); err != nil {
			return "", "", err
		}
		title, err = unquote(m[2])
		return m[1], title, err
	}
	if strings.HasPrefix(rest, `"`) {
		title, err = unquote(rest)
		return "", title, err
	}
	if !plainTitle.MatchString(rest) || titleKeyword.MatchString(rest) {
		return "", "", faultf("Mermaid refuses the title %s without quotes; write subgraph id [\"title\"]", rest)
	}
	if !plainID.MatchString(rest) {
		return "", rest, nil
	}
	return rest, rest, nil
}

func (p *flowParser) claim(id string) error {
	for _, g := range p.chart.groups {
		if g.id == id {
			return faultf("the id %s belongs to the subgraph of line %d already; choose another", id, g.line)
		}
	}
	return nil
}

// close ends the innermost subgraph. A node belongs to the first subgraph that
// ends and names it, as in Mermaid.
func (p *flowParser) close() error {
	if p.group == p.chart.root {
		return faultf("there is no open subgraph to end; remove this line. As a node's id, end breaks a flowchart: write End")
	}
	for _, id := range p.group.mentioned {
		if n := p.byID[id]; n.owner == nil {
			n.owner = p.group
		}
	}
	p.group = p.group.parent
	return nil
}

// resolve turns ids into nodes and subgraphs once all are known.
func (p *flowParser) resolve() {
	groups := map[string]*group{}
	for _, g := range p.chart.groups {
		if g.id != "" {
			groups[g.id] = g
		}
	}
	p.dropGroupsFromNodes(groups)

	for _, e := range p.chart.edges {
		e.from, e.to = p.end(e.fromID, groups), p.end(e.toID, groups)
		p.checkEnds(e)
	}
	for _, g := range p.chart.groups {
		if len(g.nodes)+len(g.groups) == 0 {
			p.doc.fault(g.line, "the subgraph is empty; put a node into it or remove it")
		}
	}
	if len(p.chart.nodes) == 0 {
		p.doc.fault(p.doc.headerLine, "the flowchart has no node; add one")
	}
}

// dropGroupsFromNodes keeps the nodes that are nodes: an id that names a
// subgraph was read as one wherever an edge mentions it.
func (p *flowParser) dropGroupsFromNodes(groups map[string]*group) {
	var nodes []*node
	for _, n := range p.chart.nodes {
		if g := groups[n.id]; g != nil {
			p.checkMention(n, g)
			continue
		}
		if n.owner == nil {
			n.owner = p.chart.root
		}
		if n.shape == bare {
			n.label = []string{n.id}
		}
		n.index = len(nodes)
		nodes = append(nodes, n)
		n.owner.nodes = append(n.owner.nodes, n)
	}
	p.chart.nodes = nodes
}

const insideItself = "an edge between the subgraph %s and something inside it cannot be drawn; link two nodes"

func (p *flowParser) checkMention(n *node, g *group) {
	switch {
	case n.shape != bare:
		p.doc.fault(n.line, "%s is a subgraph (line %d); choose another id for the node", n.id, g.line)
	case n.owner != nil && n.owner.inside(g):
		p.doc.fault(n.line, insideItself, g.id)
	case n.owner != nil && n.owner != g.parent:
		p.doc.fault(n.line, "Mermaid would move the subgraph %s into the one that names it here; write the edge outside of every subgraph", n.id)
	}
}

func (p *flowParser) end(id string, groups map[string]*group) end {
	if g := groups[id]; g != nil {
		return end{group: g}
	}
	return end{node: p.byID[id]}
}

func (p *flowParser) checkEnds(e *edge) {
	for _, pair := range [][2]end{{e.from, e.to}, {e.to, e.from}} {
		g := pair[0].group
		if g != nil && (pair[1].group == g || pair[1].owner().inside(g)) {
			p.doc.fault(e.line, insideItself, g.id)
			return
		}
	}
}
