package mermaid

import (
	"regexp"
	"strings"
)

// Each kind of line has a complete link, and the start of one whose label
// stands inside it. These are Mermaid's own rules, so that the same text is read
// as a link here and on GitHub.
var linkRules = []struct {
	stroke          stroke
	complete, start *regexp.Regexp
	mark            string // what ends a label inside the link
}{
	{solid, regexp.MustCompile(`^\s*[xo<]?--+[-xo>]\s*`), regexp.MustCompile(`^\s*[xo<]?--\s*`), "--"},
	{thick, regexp.MustCompile(`^\s*[xo<]?==+[=xo>]\s*`), regexp.MustCompile(`^\s*[xo<]?==\s*`), "=="},
	{dotted, regexp.MustCompile(`^\s*[xo<]?-?\.+-[xo>]?\s*`), regexp.MustCompile(`^\s*[xo<]?-\.\s*`), ".-"},
}

var tips = map[byte]tip{'x': crossTip, 'o': circleTip, '>': arrowTip, '<': arrowTip}

// link reads a link with its label, if one stands here.
func (c *cursor) link() (link, bool, error) {
	for _, rule := range linkRules {
		if text := c.match(rule.complete); text != "" {
			l, err := newLink("", strings.TrimSpace(text), rule.stroke)
			if err == nil {
				err = c.barLabel(&l)
			}
			return l, true, err
		}
		if text := c.match(rule.start); text != "" {
			l, err := c.innerLabel(strings.TrimSpace(text), rule.stroke, rule.complete, rule.mark)
			return l, true, err
		}
	}
	return link{}, false, nil
}

// newLink tells tips and length. With a label inside, start is what stands
// before the label.
func newLink(start, text string, s stroke) (link, error) {
	first, last := text[0], text[len(text)-1]
	l := link{stroke: s, head: tips[last]}
	if start != "" {
		if tips[first] != noTip {
			return l, faultf("Mermaid reads the %c before %s as a part of the link; put a space between the label and the link", first, text[1:])
		}
		first = start[0]
	}
	l.tail = tips[first]
	if l.tail != noTip && l.tail != l.head {
		return l, faultf("the link %s has different tips; Mermaid draws <-->, o--o and x--x, and the same with dots or =", start+text)
	}

	switch body := strings.Trim(text, "xo<>"); s {
	case dotted:
		l.length = strings.Count(body, ".")
	default:
		l.length = len(body) - 1
		if l.head == noTip {
			l.length--
		}
	}
	if l.length > maxLength {
		return l, faultf("the link %s is too long to be drawn; at most %d ranks, as in %s>", text, maxLength, strings.Repeat("-", maxLength+1))
	}
	l.length = max(l.length, 1)
	return l, nil
}

// innerLabel reads the label of `-- text -->` and its kin, and the link's end.
func (c *cursor) innerLabel(start string, s stroke, complete *regexp.Regexp, mark string) (link, error) {
	if strings.HasPrefix(c.rest(), `"`) {
		text, after, ok := strings.Cut(c.rest()[1:], `"`)
		if !ok {
			return link{}, faultf("the label of the link has no closing quote; add it")
		}
		c.at = len(c.text) - len(after)
		return c.closeLink(start, text, s, complete, true)
	}

	from := c.at
	for ; !c.done(); c.at++ {
		switch rest := c.rest(); {
		case complete.MatchString(rest):
			return c.closeLink(start, c.text[from:c.at], s, complete, false)
		case strings.HasPrefix(rest, mark):
			return link{}, faultf("%s ends the label of a link, and no link follows; use another dash in the text", mark)
		case rest[0] == '"':
			return link{}, faultf("Mermaid refuses a quote inside the label of a link; quote the whole label, or write #quot;")
		}
	}
	return link{}, faultf("the link that starts with %s has no end; write %s text %s", start, start, map[stroke]string{solid: "-->", thick: "==>", dotted: ".->"}[s])
}

func (c *cursor) closeLink(start, text string, s stroke, complete *regexp.Regexp, quoted bool) (link, error) {
	closing := c.match(complete)
	if closing == "" {
		return link{}, faultf("the link must end behind the closing quote; inside a label write #quot; for a quote")
	}
	l, err := newLink(start, strings.TrimSpace(closing), s)
	if err != nil {
		return l, err
	}
	return l, l.setLabel(text, quoted)
}

// barLabel reads the |label| behind a link.
func (c *cursor) barLabel(l *link) error {
	if !c.take("|") {
		return nil
	}
	quoted := strings.HasPrefix(c.rest(), `"`)
	text, err := c.label("|")
	if err != nil {
		return faultf("label of the link: %s", err)
	}
	if m := spaces.FindString(c.rest()); len(m) > 1 {
		return faultf("Mermaid takes one space behind |%s|; remove the others", text)
	}
	c.skip(spaces)
	return l.setLabel(text, quoted)
}

func (l *link) setLabel(text string, quoted bool) error {
	var err error
	if quoted {
		_, err = checkQuoted(text)
	} else {
		err = checkUnquoted(text)
	}
	if err == nil {
		l.label, err = flowLines(text)
	}
	if err != nil {
		return faultf("label of the link: %s", err)
	}
	return nil
}
