package mermaid

import (
	"regexp"
	"strings"
)

// cursor reads a flowchart's statement in the order in which Mermaid's lexer
// tries its rules, since much that looks harmless is decided there.
type cursor struct {
	text string
	at   int
	line int
}

var (
	spaces    = regexp.MustCompile(`^\s+`)
	ampersand = regexp.MustCompile(`^\s+&\s+`)
	endWord   = regexp.MustCompile(`^end\b\s*`)
	reserved  = regexp.MustCompile(`^\d*(style|linkStyle|classDef|class|graph|flowchart|subgraph|end|interpolate|call|click|href|_self|_blank|_parent|_top)(?:[-.]|$)`)
	arrowLike = regexp.MustCompile(`^\d*[xo]$`)
)

func (c *cursor) rest() string { return c.text[c.at:] }
func (c *cursor) done() bool   { return c.at >= len(c.text) }

func (c *cursor) take(s string) bool {
	if !strings.HasPrefix(c.rest(), s) {
		return false
	}
	c.at += len(s)
	return true
}

func (c *cursor) skip(re *regexp.Regexp) { c.match(re) }

func (c *cursor) match(re *regexp.Regexp) string {
	m := re.FindString(c.rest())
	c.at += len(m)
	return m
}

// finish checks that a statement ends here.
func (c *cursor) finish(after string) error {
	c.skip(spaces)
	switch rest := c.rest(); {
	case rest == "" || rest[0] == ';':
		return nil
	case rest[0] == '&':
		return faultf("put a space on both sides of &")
	case strings.HasPrefix(rest, ":::"):
		return faultf("::: is outside the subset that the site draws; remove it: the page decides the colours")
	case strings.HasPrefix(rest, "~~~"):
		return faultf("the invisible link ~~~ is outside the subset that the site draws; remove it")
	case strings.HasPrefix(rest, "@"):
		return faultf("@ behind an id is outside the subset that the site draws; use a shape's brackets")
	case strings.ContainsRune("[({>", rune(rest[0])):
		return faultf("no space may stand between a node's id and its text; write id[text]")
	default:
		return faultf("%q cannot follow %s; start a new line, or link with --> and the like", rest, after)
	}
}

// id reads a node's id. Mermaid takes many more characters into an id than one
// would expect, so the whole of what it takes must look like one.
func (c *cursor) id() (string, error) {
	size := idLength(c.rest())
	id := c.rest()[:size]
	switch {
	case c.done():
		return "", faultf("a node is missing; write its id")
	case id == "":
		return "", faultf("%q is no node; an id has letters, digits and _, and its text follows in brackets", c.rest())
	}
	if err := checkID(id); err != nil {
		return "", err
	}
	c.at += size
	if arrowLike.MatchString(id) && !c.done() && strings.ContainsRune("-=.", rune(c.rest()[0])) {
		return "", faultf("Mermaid reads %s%c as the start of an arrow; put a space behind the id", id, c.rest()[0])
	}
	return id, nil
}

func idLength(s string) int {
	for i, r := range s {
		next := s[i+1:]
		switch {
		case r == '-' && next != "" && !strings.ContainsRune(">-.", rune(next[0])):
		case r == '=' && !strings.HasPrefix(next, "="):
		case r >= 0x80 || strings.ContainsRune("!#$%&'*+.`?\\_/:,", r):
		case r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
		default:
			return i
		}
	}
	return len(s)
}

func checkID(id string) error {
	if m := reserved.FindStringSubmatch(id); m != nil {
		return faultf("the id %s breaks a flowchart, since Mermaid reads the word %s; write %s", id, m[1], "n_"+m[1])
	}
	if strings.Contains(id, ":::") {
		return faultf("::: is outside the subset that the site draws; remove it: the page decides the colours")
	}
	if !plainID.MatchString(id) {
		return faultf("Mermaid reads %q as an id; use ASCII letters, digits and _, put other text in brackets, and spaces around & and links", id)
	}
	return nil
}

// brackets of the shapes, the longer ones first.
var brackets = []struct {
	shape       shape
	open, close string
}{
	{disc, "((", "))"},
	{stadium, "([", "])"},
	{subroutine, "[[", "]]"},
	{cylinder, "[(", ")]"},
	{hexagon, "{{", "}}"},
	{rectangle, "[", "]"},
	{rounded, "(", ")"},
	{diamond, "{", "}"},
	{flag, ">", "]"},
}

var foreignShapes = []string{"(((", "(-", "[/", `[\`, "[|"}

// shape reads a node's brackets and the text in them; without brackets it is bare.
func (c *cursor) shape() (shape, string, error) {
	for _, open := range foreignShapes {
		if strings.HasPrefix(c.rest(), open) {
			return bare, "", faultf("the shape %s is outside the subset that the site draws; use [ ], ( ) or { }, and if the text starts so, quote the label", open)
		}
	}
	if strings.HasPrefix(c.rest(), "@") {
		return bare, "", faultf("@ behind an id is outside the subset that the site draws; use a shape's brackets")
	}
	for _, b := range brackets {
		if c.take(b.open) {
			text, err := c.label(b.close)
			return b.shape, text, err
		}
	}
	return bare, "", nil
}

// label reads a text up to its closing bracket, quoted or not.
func (c *cursor) label(closing string) (string, error) {
	if strings.HasPrefix(c.rest(), `"`) {
		text, after, ok := strings.Cut(c.rest()[1:], `"`)
		if !ok {
			return "", faultf("a label in quotes must end in its line; add the quote, and break lines with <br/>")
		}
		c.at = len(c.text) - len(after)
		if !c.take(closing) {
			return "", faultf("%s must follow the closing quote; inside a label write #quot; for a quote", closing)
		}
		return checkQuoted(text)
	}

	size := strings.IndexAny(c.rest(), `[](){}|"`)
	if size < 0 {
		return "", faultf("the label has no closing %s; add it in the same line, and break lines with <br/>", closing)
	}
	text := c.rest()[:size]
	c.at += size
	if !c.take(closing) {
		return "", faultf("Mermaid refuses %c in a label without quotes; quote the label: \"…\"", c.rest()[0])
	}
	return text, checkUnquoted(text)
}

// unquote reads a subgraph's title, with its quotes if it has any.
func unquote(text string) (string, error) {
	c := &cursor{text: text + "]"}
	text, err := c.label("]")
	if err == nil && !c.done() {
		err = faultf("Mermaid refuses ] in a title without quotes; quote the title: \"…\"")
	}
	return text, err
}

func checkQuoted(text string) (string, error) {
	if strings.HasPrefix(text, "`") {
		return "", faultf("a Markdown label is outside the subset that the site draws; use \"…\" without backticks")
	}
	return text, nil
}

func checkUnquoted(text string) error {
	switch {
	case strings.Contains(text, "@"):
		return faultf("Mermaid refuses @ in a label without quotes; quote the label: \"…\"")
	case strings.Contains(text, "~~~"):
		return faultf("Mermaid reads ~~~ as a link; quote the label: \"…\"")
	}
	return nil
}
