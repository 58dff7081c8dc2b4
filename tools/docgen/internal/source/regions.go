package source

import (
	"bytes"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
)

// Region is what stands between two markers.
type Region struct {
	Name      string
	Line, End int    // where the markers are
	In        string // the function or method that it is in; nothing at the top level and in other languages
}

// Regions returns the regions of a file, in order, and what is wrong with its
// markers. A region that is named in a finding is not among the regions.
func (t *Tree) Regions(name string) ([]Region, []finding.Finding) {
	f, err := t.file(name)
	if err != nil {
		return nil, []finding.Finding{{File: name, Line: 1, Col: 1, Message: err.Error()}}
	}
	if f.syntax != nil {
		at := finding.Finding{File: name, Line: 1, Col: 1, Message: f.syntax.Error()}
		var list scanner.ErrorList
		if errors.As(f.syntax, &list) {
			at.Line, at.Col, at.Message = list[0].Pos.Line, list[0].Pos.Column, list[0].Msg
		}
		return nil, []finding.Finding{at}
	}
	return slices.Clone(f.regions), slices.Clone(f.findings)
}

// marker is a comment that begins or ends a region.
type marker struct {
	line, col int
	begins    bool
	name      string
	block     int // where the innermost bracket that is open here was opened; -1 outside of all
	wrong     string
}

var (
	markerLike = regexp.MustCompile(`^(?:(//|/\*|#|--)\s*|(<!--))docgen:\w`)
	wellFormed = regexp.MustCompile(`^(?://|#|--|<!--)docgen:(begin|end) ([\pL\pN][\pL\pN_.-]*)(?:\s*-->)?$`)
)

// readMarker reads a comment. It is lenient in what it takes for an attempt at a
// marker, so that a misspelt one is told rather than shown on a page. Only
// "<!-- docgen:", with a space, is left alone: between such comments docgen gen
// writes its part of a README.
func readMarker(comment string, alone bool) (marker, bool) {
	like := markerLike.FindStringSubmatch(comment)
	if like == nil {
		return marker{}, false
	}
	var m marker
	switch parts := wellFormed.FindStringSubmatch(comment); {
	case parts == nil:
		m.wrong = fmt.Sprintf("%s is not a marker: write %sdocgen:begin name or %[2]sdocgen:end name", comment, like[1]+like[2])
	case !alone:
		m.wrong = "a marker shares its line with code: give it a line of its own"
	default:
		m.begins, m.name = parts[1] == "begin", parts[2]
	}
	return m, true
}

// goMarkers finds the markers among the comments of a Go file, so that a string
// that looks like one is left alone, and on the way notes the lines that begin
// inside a raw string.
func (f *file) goMarkers() []marker {
	var (
		s       scanner.Scanner
		markers []marker
		open    []int // offsets of the brackets that are open
	)
	base := token.NewFileSet().AddFile(f.path, -1, len(f.src))
	s.Init(base, f.src, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return markers
		case token.LPAREN, token.LBRACK, token.LBRACE:
			open = append(open, base.Offset(pos))
		case token.RPAREN, token.RBRACK, token.RBRACE:
			open = open[:max(len(open)-1, 0)]
		case token.STRING:
			first := base.PositionFor(pos, false).Line
			for i := range strings.Count(lit, "\n") {
				f.literal[first+i+1] = true
			}
		case token.COMMENT:
			at := base.PositionFor(pos, false)
			alone := len(bytes.TrimSpace(f.lines[at.Line-1])) == len(lit)
			m, ok := readMarker(lit, alone)
			if !ok {
				continue
			}
			m.line, m.col, m.block = at.Line, at.Column, -1
			if len(open) > 0 {
				m.block = open[len(open)-1]
			}
			markers = append(markers, m)
			f.hideSeparator(at.Line)
		}
	}
}

// hideSeparator hides the empty line of a comment that gofmt puts between a doc
// comment and a marker at its end.
func (f *file) hideSeparator(marker int) {
	text := func(line int) string {
		if line < 1 || line > len(f.lines) {
			return ""
		}
		return string(bytes.TrimSpace(f.lines[line-1]))
	}
	if above := marker - 1; text(above) == "//" && !strings.HasPrefix(text(marker+1), "//") {
		f.hidden[above] = true
	}
}

// commentMarkers finds the lines of another language that are markers.
func (f *file) commentMarkers() []marker {
	var markers []marker
	for i, line := range f.lines {
		text := bytes.TrimSpace(line)
		if m, ok := readMarker(string(text), true); ok {
			m.line, m.col = i+1, bytes.Index(line, text)+1
			markers = append(markers, m)
		}
	}
	return markers
}

// pair makes regions of markers.
func (f *file) pair(markers []marker) {
	var open []marker
	began := map[string]int{} // lines
	for _, m := range markers {
		f.hidden[m.line] = true
		switch {
		case m.wrong != "":
			f.fault(m, m.wrong)
		case m.begins:
			if line, twice := began[m.name]; twice {
				f.fault(m, fmt.Sprintf("region %s is there already, from line %d on: give this one another name", m.name, line))
			} else {
				began[m.name] = m.line
			}
			open = append(open, m)
		default:
			open = f.end(m, open)
		}
	}
	for _, m := range open {
		f.fault(m, fmt.Sprintf("region %s never ends: add a docgen:end %[1]s, or correct its name", m.name))
	}
	f.regions = slices.DeleteFunc(f.regions, func(r Region) bool { return f.broken[r.Name] != "" })
	slices.SortFunc(f.regions, func(a, b Region) int { return a.Line - b.Line })
	f.findings = finding.Sort(f.findings)
}

// end closes the innermost open region of m's name, and returns what is still
// open.
func (f *file) end(m marker, open []marker) []marker {
	i := len(open) - 1
	for i >= 0 && open[i].name != m.name {
		i--
	}
	if i < 0 {
		f.fault(m, fmt.Sprintf("region %s ends here and never began: add a docgen:begin %[1]s, or correct its name", m.name))
		return open
	}
	begin := open[i]
	if inner := open[len(open)-1]; inner.name != m.name {
		f.fault(m, fmt.Sprintf("region %s ends while %s, which began in it at line %d, is still open: end %[2]s first",
			m.name, inner.name, inner.line))
	}
	if begin.block != m.block {
		f.fault(m, fmt.Sprintf("region %s began at line %d in another block: put both markers between the same braces",
			m.name, begin.line))
	}
	f.regions = append(f.regions, Region{Name: m.name, Line: begin.line, End: m.line, In: f.function(begin.line)})
	return slices.Delete(open, i, i+1)
}

func (f *file) fault(m marker, message string) {
	f.findings = append(f.findings, finding.Finding{File: f.path, Line: m.line, Col: m.col, Message: message})
	if m.name != "" && f.broken[m.name] == "" {
		f.broken[m.name] = fmt.Sprintf("%s:%d:%d: %s", f.path, m.line, m.col, message)
	}
}
