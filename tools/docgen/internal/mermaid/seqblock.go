package mermaid

import "strings"

func (p *sequenceParser) begin(m []string, line int) error {
	b := &block{kind: strings.ToLower(m[1]), line: line, sections: []*section{{}}}
	p.add(b)
	p.open = append(p.open, b) // also with a fault, so that its end finds it
	return b.title(m[2])
}

func (p *sequenceParser) divide(m []string) error {
	word := strings.ToLower(m[1])
	if len(p.open) == 0 || p.open[len(p.open)-1].kind != dividers[word] {
		return faultf("%s divides a block of the kind %s, and none is open here", word, dividers[word])
	}
	b := p.open[len(p.open)-1]
	b.sections = append(b.sections, &section{})
	return b.title(m[2])
}

func (p *sequenceParser) end() error {
	if len(p.open) == 0 {
		return faultf("there is no open block to end; remove this line")
	}
	b := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	for _, s := range b.sections {
		if len(s.items) > 0 {
			return nil
		}
	}
	return faultf("the %s of line %d is empty; put a message into it or remove it", b.kind, b.line)
}

// title sets the condition of the newest section, which may have none.
func (b *block) title(text string) error {
	if text == "" {
		return nil
	}
	lines, err := sequenceText(text)
	b.sections[len(b.sections)-1].text = lines
	return err
}

// sequenceText reads a text of a sequence diagram, where # starts a comment and
// ; ends the statement, wherever they stand.
func sequenceText(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	rest := sequenceEntity.ReplaceAllString(text, "")
	switch {
	case text == "":
		return nil, faultf("the text is empty; write what it should say behind the colon")
	case strings.Contains(rest, "#"):
		return nil, faultf("Mermaid drops a sequence diagram's text from # on; write #35; for #")
	case strings.Contains(rest, ";"):
		return nil, faultf("Mermaid ends a sequence diagram's statement at ; – write #59; for it, and #lt; rather than &lt;")
	case strings.HasPrefix(text, "wrap:") || strings.HasPrefix(text, "nowrap:"):
		return nil, faultf("wrap: and nowrap: are outside the subset that the site draws; remove it, and break lines with <br/>")
	}
	return labelLines(text)
}

// checkBars follows the activations, since Mermaid refuses the end of one that
// never started, and does not draw one that never ends.
func (p *sequenceParser) checkBars() {
	open := map[*participant][]int{}
	start := func(a *participant, line int) { open[a] = append(open[a], line) }
	stop := func(a *participant, line int) {
		if len(open[a]) == 0 {
			p.doc.fault(line, "%s is not active here, and Mermaid refuses to deactivate it; activate it first", a.id)
			return
		}
		open[a] = open[a][:len(open[a])-1]
	}

	walk(p.seq.items, func(i item) {
		switch i := i.(type) {
		case *message:
			if i.starts {
				start(i.to, i.line)
			}
			if i.ends {
				stop(i.from, i.line)
			}
		case *bar:
			if i.starts {
				start(i.of, i.line)
			} else {
				stop(i.of, i.line)
			}
		}
	})
	for _, a := range p.seq.participants {
		for _, line := range open[a] {
			p.doc.fault(line, "%s stays active to the end, and Mermaid draws no such bar; deactivate it", a.id)
		}
	}
}

// walk visits items in the order of the source, those in blocks too.
func walk(items []item, visit func(item)) {
	for _, i := range items {
		visit(i)
		if b, ok := i.(*block); ok {
			for _, s := range b.sections {
				walk(s.items, visit)
			}
		}
	}
}
