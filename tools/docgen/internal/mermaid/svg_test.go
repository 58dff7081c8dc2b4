package mermaid_test

import (
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relay-samples/relay-go/tools/docgen/internal/mermaid"
	"github.com/stretchr/testify/require"
)

// mark is an element of a drawing with the geometry that the tests judge.
type mark struct {
	tag     string
	attrs   map[string]string
	classes []string
	points  [][2]float64 // corners, control points, or the ends of a box
	text    []string     // lines of a text element
}

func (m mark) is(class string) bool { return slices.Contains(m.classes, class) }

func (m mark) number(name string) float64 {
	f, _ := strconv.ParseFloat(m.attrs[name], 64)
	return f
}

type rect struct{ x0, y0, x1, y1 float64 }

func (r rect) overlaps(o rect) bool {
	return r.x0 < o.x1 && o.x0 < r.x1 && r.y0 < o.y1 && o.y0 < r.y1
}
func (r rect) holds(o rect) bool {
	return r.x0 <= o.x0 && r.y0 <= o.y0 && r.x1 >= o.x1 && r.y1 >= o.y1
}

func (m mark) box() rect {
	b := rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, p := range m.points {
		b = rect{min(b.x0, p[0]), min(b.y0, p[1]), max(b.x1, p[0]), max(b.y1, p[1])}
	}
	return b
}

// draw draws a source that must be right, and reads the SVG back.
func draw(t *testing.T, source string) (mermaid.Drawing, []mark) {
	t.Helper()
	d, errs := mermaid.Draw(source, "d1")
	require.Empty(t, errs)
	return d, marks(t, d.SVG)
}

func marks(t *testing.T, svg string) []mark {
	t.Helper()
	var out []mark
	dec := xml.NewDecoder(strings.NewReader(svg))
	dec.Strict = true
	open := -1 // the text element that tspans belong to
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return out
		}
		require.NoError(t, err, svg)
		switch token := token.(type) {
		case xml.StartElement:
			m := newMark(token)
			if m.tag == "tspan" {
				out[open].addLine(m)
				continue
			}
			out = append(out, m)
			if m.tag == "text" {
				open = len(out) - 1
			}
		case xml.CharData:
			if open >= 0 && len(out[open].text) > 0 {
				out[open].text[len(out[open].text)-1] += string(token)
			}
		case xml.EndElement:
			if token.Name.Local == "text" {
				out[open].measure()
				open = -1
			}
		}
	}
}

func newMark(e xml.StartElement) mark {
	m := mark{tag: e.Name.Local, attrs: map[string]string{}}
	for _, a := range e.Attr {
		m.attrs[a.Name.Local] = a.Value
	}
	m.classes = strings.Fields(m.attrs["class"])
	switch m.tag {
	case "rect":
		x, y := m.number("x"), m.number("y")
		m.points = [][2]float64{{x, y}, {x + m.number("width"), y + m.number("height")}}
	case "circle":
		x, y, r := m.number("cx"), m.number("cy"), m.number("r")
		m.points = [][2]float64{{x - r, y - r}, {x + r, y + r}}
	case "polygon":
		m.points = pathPoints("M" + m.attrs["points"])
	case "path":
		m.points = pathPoints(m.attrs["d"])
	}
	return m
}

func (m *mark) addLine(span mark) {
	m.text = append(m.text, "")
	m.points = append(m.points, [2]float64{span.number("x"), span.number("y")})
}

// measure turns a text's baselines into the box of its letters, by half an em
// for each character: less than nearly every font takes.
func (m *mark) measure() {
	size := 14.0
	if s := m.number("font-size"); s > 0 {
		size = s
	}
	var corners [][2]float64
	for i, line := range m.text {
		x, y, width := m.points[i][0], m.points[i][1], float64(len([]rune(line)))*size*0.45
		if m.attrs["text-anchor"] != "start" {
			x -= width / 2
		}
		corners = append(corners, [2]float64{x, y - 0.75*size}, [2]float64{x + width, y + 0.2*size})
	}
	m.points = corners
}

var command = regexp.MustCompile(`[MLCQAHVZ]|-?[0-9.]+`)

// pathPoints lists the points of a path whose commands are absolute.
func pathPoints(d string) [][2]float64 {
	var points [][2]float64
	var numbers []float64
	name := ""
	flush := func() {
		last := [2]float64{}
		if len(points) > 0 {
			last = points[len(points)-1]
		}
		switch {
		case name == "H" && len(numbers) == 1:
			points = append(points, [2]float64{numbers[0], last[1]})
		case name == "V" && len(numbers) == 1:
			points = append(points, [2]float64{last[0], numbers[0]})
		case name == "A" && len(numbers) == 7:
			points = append(points, [2]float64{numbers[5], numbers[6]})
		default:
			for i := 0; i+1 < len(numbers); i += 2 {
				points = append(points, [2]float64{numbers[i], numbers[i+1]})
			}
		}
		numbers = nil
	}
	for _, part := range command.FindAllString(d, -1) {
		if strings.ContainsAny(part, "MLCQAHVZ") {
			flush()
			name = part
			continue
		}
		f, _ := strconv.ParseFloat(part, 64)
		numbers = append(numbers, f)
	}
	flush()
	return points
}

func with(all []mark, class string) []mark {
	var out []mark
	for _, m := range all {
		if m.is(class) {
			out = append(out, m)
		}
	}
	return out
}

// words is all text of a drawing, without spaces: a wrapped label loses them.
func words(all []mark) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(strings.Join(m.text, ""))
	}
	return strings.ReplaceAll(b.String(), " ", "")
}

func viewBox(t *testing.T, all []mark) rect {
	t.Helper()
	fields := strings.Fields(all[0].attrs["viewBox"])
	require.Len(t, fields, 4)
	v := make([]float64, 4)
	for i, f := range fields {
		var err error
		v[i], err = strconv.ParseFloat(f, 64)
		require.NoError(t, err)
	}
	return rect{v[0], v[1], v[0] + v[2], v[1] + v[3]}
}
