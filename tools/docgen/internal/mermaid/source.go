package mermaid

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	flowchartKind = "flowchart"
	sequenceKind  = "sequence"
)

// Mermaid's own limit of a diagram's text on GitHub.
const maxSource = 50_000

// document is a source, cut into what every kind of diagram has in common: the
// header, the statements' lines, and the text alternative.
type document struct {
	kind               string
	header             string // what follows the keyword in its line
	headerLine         int
	lines              []line // neither blank, nor a comment, nor accTitle or accDescr
	title, description string
	errs               []Error
}

type line struct {
	number int
	text   string // without the spaces around it
}

func (d *document) fault(line int, format string, args ...any) {
	d.errs = append(d.errs, Error{Line: line, Message: fmt.Sprintf(format, args...)})
}

// faultf is an error for the author of an article: a sentence that says what is
// wrong and how to mend it.
func faultf(format string, args ...any) error { return fmt.Errorf(format, args...) }

var (
	accTitle = regexp.MustCompile(`^accTitle\s*:\s*(.*)$`)
	accDescr = regexp.MustCompile(`^accDescr\s*:\s*(.*)$`)
	accBlock = regexp.MustCompile(`^accDescr\s*\{(.*)$`)
)

func read(source string) *document {
	d := &document{}
	if len(source) > maxSource {
		d.fault(1, "the diagram has %d bytes, and Mermaid draws at most %d; split it", len(source), maxSource)
		return d
	}

	lines := strings.Split(source, "\n") // a \r goes with the spaces around a line
	for i := 0; i < len(lines); i++ {
		i = d.readLine(lines, i)
		if d.kind == "" && len(d.errs) > 0 {
			return d // an unknown kind of diagram: the rest cannot be judged
		}
	}

	if d.kind == "" {
		d.fault(1, "the diagram is empty; start with flowchart TD or sequenceDiagram")
		return d
	}
	return d
}

// checkAlternative comes after the statements' own faults.
func (d *document) checkAlternative() {
	if d.title == "" {
		d.fault(d.headerLine, "the diagram has no accTitle; add a line accTitle: with its name, for readers who do not see it")
	}
	if d.description == "" {
		d.fault(d.headerLine, "the diagram has no accDescr; add a line accDescr: that says what it shows, for readers who do not see it")
	}
}

// readLine takes the line at i, and the following ones where a statement spans
// several; it returns the last that it took.
func (d *document) readLine(lines []string, i int) int {
	text, number := strings.TrimSpace(lines[i]), i+1

	switch {
	case text == "":
	case strings.HasPrefix(text, "%%{"):
		d.fault(number, "%%%%{…}%%%% is outside the subset that the site draws; remove it: the page decides colours and fonts")
	case text == "%%":
		d.fault(number, "Mermaid reads a bare %%%% as a node; put the comment's text behind it, or leave the line empty")
	case strings.HasPrefix(text, "%%"):
	case d.kind == "":
		d.readHeader(text, number)
	case accBlock.MatchString(text):
		return d.readBlock(lines, i)
	case accTitle.MatchString(text):
		d.alternative(&d.title, "accTitle", accTitle.FindStringSubmatch(text)[1], number)
	case accDescr.MatchString(text):
		d.alternative(&d.description, "accDescr", accDescr.FindStringSubmatch(text)[1], number)
	case strings.Contains(text, "%%"):
		d.fault(number, "a comment needs a line of its own; move %%%% … above this line")
	default:
		d.lines = append(d.lines, line{number, text})
	}
	return i
}

func (d *document) readHeader(text string, number int) {
	word, rest, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	switch word {
	case "flowchart", "graph":
		d.kind, d.header = flowchartKind, strings.TrimSpace(rest)
	case "sequenceDiagram":
		d.kind, d.header = sequenceKind, strings.TrimSpace(rest)
	case "---":
		d.fault(number, "front matter in a diagram is outside the subset that the site draws; remove it, and give the title as accTitle:")
	default:
		d.fault(number, "%q is outside the subset that the site draws; start with flowchart TD or sequenceDiagram", word)
	}
	d.headerLine = number
}

func (d *document) readBlock(lines []string, i int) int {
	number := i + 1
	text := accBlock.FindStringSubmatch(strings.TrimSpace(lines[i]))[1]
	for !strings.Contains(text, "}") {
		i++
		if i == len(lines) {
			d.fault(number, "accDescr { has no closing }; add it in a line of its own")
			return i
		}
		text += "\n" + lines[i]
	}

	text, after, _ := strings.Cut(text, "}")
	if strings.TrimSpace(after) != "" {
		d.fault(i+1, "put what follows the } of accDescr into a line of its own")
	}
	d.alternative(&d.description, "accDescr", text, number)
	return i
}

func (d *document) alternative(field *string, name, text string, number int) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		d.fault(number, "%s is empty; say what the diagram shows", name)
		text = " " // one fault is enough
	case *field != "":
		d.fault(number, "%s is given twice; keep one", name)
	}
	*field = decodeEntities(text)
}
