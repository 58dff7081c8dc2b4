package mermaid

import (
	"regexp"
	"strconv"
	"strings"
)

// A participant's id. Behind a hyphen no x may follow: Mermaid takes -x for an arrow.
const actorID = `[\pL\pN_]+(?:[.][\pL\pN_]+|-[A-WYZa-wyz0-9_][\pL\pN_]*)*`

var (
	participantLine = regexp.MustCompile(`^(?i:(participant|actor))\s+(` + actorID + `)(?:\s+(?i:as)\s+(.*))?$`)
	messageLine     = regexp.MustCompile(`^(` + actorID + `)\s*(-->>|->>|--x|-x|--\)|-\)|-->|->)\s*([+-]?)\s*(` + actorID + `)\s*:(.*)$`)
	noteLine        = regexp.MustCompile(`^(?i:note)\s+(?i:(over|left of|right of))\s+(` + actorID + `)\s*(?:,\s*(` + actorID + `)\s*)?:(.*)$`)
	barLine         = regexp.MustCompile(`^(?i:(activate|deactivate))\s+(` + actorID + `)$`)
	numberLine      = regexp.MustCompile(`^(?i:autonumber)(?:\s+(\d{1,6})(?:\s+(\d{1,6}))?|\s+(off))?$`)
	blockLine       = regexp.MustCompile(`^(?i:(alt|opt|loop|par|critical|break))(?:\s+(.*))?$`)
	sectionLine     = regexp.MustCompile(`^(?i:(else|and|option))(?:\s+(.*))?$`)
	endLine         = regexp.MustCompile(`^(?i:end)$`)
	foreignLine     = regexp.MustCompile(`^(?i:(rect|box|create|destroy|links?|properties|details|title|par_over))(?:[\s:]|$)`)
	takenActor      = regexp.MustCompile(`^(?i:box|participant|actor|create|destroy|loop|rect|opt|alt|else|par|par_over|and|critical|option|break|end|links?|properties|details|over|note|activate|deactivate|title|autonumber|off|sequenceDiagram|as)(?:\W|$)`)
	digits          = regexp.MustCompile(`^\d+$`)
	arrowInLine     = regexp.MustCompile(`--?(?:>>?|x|\))`)
	sequenceEntity  = regexp.MustCompile(`#\w+;`)
)

var foreignMends = map[string]string{
	"rect":       "use opt or a note: the page decides the colours",
	"box":        "leave it out, and name the group in the participants' texts",
	"create":     "use participant",
	"destroy":    "leave it out, or say it in a note",
	"link":       "put the link into the article's text",
	"links":      "put the links into the article's text",
	"properties": "leave it out",
	"details":    "leave it out",
	"title":      "use accTitle:, and a heading in the article",
	"par_over":   "use par",
}

// Which word divides which block.
var dividers = map[string]string{"else": "alt", "and": "par", "option": "critical"}

type sequenceParser struct {
	doc  *document
	seq  *sequence
	byID map[string]*participant
	open []*block
}

func parseSequence(doc *document) *sequence {
	p := &sequenceParser{doc: doc, seq: &sequence{}, byID: map[string]*participant{}}
	if doc.header != "" {
		doc.fault(doc.headerLine, "nothing may follow sequenceDiagram in its line; start a new line")
	}

	for _, l := range doc.lines {
		if err := p.statement(l); err != nil {
			doc.fault(l.number, "%s", err)
		}
	}
	for _, b := range p.open {
		doc.fault(b.line, "this %s has no end; add a line end behind its last statement", b.kind)
	}
	if len(p.seq.participants) == 0 && len(doc.errs) == 0 {
		doc.fault(doc.headerLine, "the diagram has no participant; add a message such as A->>B: text")
	}
	if len(doc.errs) == 0 {
		p.checkBars()
	}
	return p.seq
}

func (p *sequenceParser) statement(l line) error {
	text := l.text
	if m := messageLine.FindStringSubmatch(text); m != nil {
		return p.message(m, l.number)
	}
	if m := participantLine.FindStringSubmatch(text); m != nil {
		return p.declare(m)
	}
	if m := noteLine.FindStringSubmatch(text); m != nil {
		return p.note(m)
	}
	if m := barLine.FindStringSubmatch(text); m != nil {
		return p.bar(m, l.number)
	}
	if m := numberLine.FindStringSubmatch(text); m != nil {
		return p.number(m)
	}
	if m := blockLine.FindStringSubmatch(text); m != nil {
		return p.begin(m, l.number)
	}
	if m := sectionLine.FindStringSubmatch(text); m != nil {
		return p.divide(m)
	}
	if endLine.MatchString(text) {
		return p.end()
	}
	return unknown(text)
}

// unknown says what is wrong with a line that is no statement.
func unknown(text string) error {
	if m := foreignLine.FindStringSubmatch(text); m != nil {
		word := strings.ToLower(m[1])
		return faultf("%s is outside the subset that the site draws; %s", word, foreignMends[word])
	}
	first, _, _ := strings.Cut(text, " ")
	switch first = strings.ToLower(first); {
	case strings.Contains(text, "<<-"):
		return faultf("an arrow with two heads is outside the subset that the site draws; use two messages")
	case first == "note":
		return faultf("a note is written Note over A: text, Note over A,B: text, Note left of A: text or Note right of A: text")
	case first == "participant" || first == "actor":
		return faultf("a participant is written %s id or %s id as Text; an id has letters, digits and _, and no -x", first, first)
	case arrowInLine.MatchString(text) && !strings.Contains(text, ":"):
		return faultf("a message needs a text; write A->>B: text")
	case arrowInLine.MatchString(text):
		return faultf("a message is written A->>B: text, with ids of letters, digits and _; the arrows are ->> -->> -> --> -x --x -) --)")
	}
	return faultf("%q is no statement of the subset that the site draws; it has participant, actor, messages, Note, activate, alt, opt, loop, par, critical, break and autonumber", text)
}

// participant finds one, and adds it where a message or a note names it first.
func (p *sequenceParser) participant(id string) (*participant, error) {
	if a := p.byID[id]; a != nil {
		return a, nil
	}
	switch {
	case takenActor.MatchString(id):
		return nil, faultf("Mermaid reads a word in the id %s as a statement; choose another id, and give the text behind as", id)
	case digits.MatchString(id):
		return nil, faultf("Mermaid reads the id %s as a number; start it with a letter", id)
	}
	a := &participant{id: id, index: len(p.seq.participants), label: []string{id}}
	p.byID[id] = a
	p.seq.participants = append(p.seq.participants, a)
	return a, nil
}

func (p *sequenceParser) declare(m []string) error {
	id, text := m[2], m[3]
	if p.byID[id] != nil {
		return faultf("%s is declared or used above already; declare each participant once, before its first message", id)
	}
	if len(p.open) > 0 {
		return faultf("declare participants before the first %s", p.open[0].kind)
	}
	a, err := p.participant(id)
	if err != nil {
		return err
	}
	a.figure = strings.EqualFold(m[1], "actor")
	if text != "" {
		a.label, err = sequenceText(text)
	}
	return err
}

func (p *sequenceParser) message(m []string, line int) error {
	from, err := p.participant(m[1])
	if err != nil {
		return err
	}
	to, err := p.participant(m[4])
	if err != nil {
		return err
	}
	text, err := sequenceText(m[5])
	if err != nil {
		return err
	}

	arrow := m[2]
	msg := &message{line: line, from: from, to: to, text: text, starts: m[3] == "+", ends: m[3] == "-"}
	msg.dashed = strings.HasPrefix(arrow, "--")
	switch arrow[len(arrow)-1] {
	case 'x':
		msg.head = crossHead
	case ')':
		msg.head = openHead
	default:
		if strings.HasSuffix(arrow, ">>") {
			msg.head = fullHead
		}
	}
	p.add(msg)
	return nil
}

func (p *sequenceParser) note(m []string) error {
	n := &note{side: map[string]side{"over": over, "left of": leftOf, "right of": rightOf}[strings.ToLower(m[1])]}
	var err error
	if n.first, err = p.participant(m[2]); err != nil {
		return err
	}
	n.last = n.first
	if m[3] != "" {
		if n.side != over {
			return faultf("a note stands left or right of one participant; for two write Note over %s,%s", m[2], m[3])
		}
		if n.last, err = p.participant(m[3]); err != nil {
			return err
		}
	}
	if n.first.index > n.last.index {
		n.first, n.last = n.last, n.first
	}
	if n.text, err = sequenceText(m[4]); err != nil {
		return err
	}
	p.add(n)
	return nil
}

func (p *sequenceParser) bar(m []string, line int) error {
	a := p.byID[m[2]]
	if a == nil {
		return faultf("%s is not known yet; declare it with participant, or use it in a message first", m[2])
	}
	p.add(&bar{line: line, of: a, starts: strings.EqualFold(m[1], "activate")})
	return nil
}

func (p *sequenceParser) number(m []string) error {
	n := &numbering{on: m[3] == "", start: 1, step: 1}
	for i, field := range []*int{&n.start, &n.step} {
		if m[i+1] != "" {
			*field, _ = strconv.Atoi(m[i+1]) // digits, by the expression
		}
	}
	p.add(n)
	return nil
}

func (p *sequenceParser) add(i item) {
	if len(p.open) == 0 {
		p.seq.items = append(p.seq.items, i)
		return
	}
	sections := p.open[len(p.open)-1].sections
	last := sections[len(sections)-1]
	last.items = append(last.items, i)
}
