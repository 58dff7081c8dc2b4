// Package highlight colours code: it turns it into HTML whose text is the code,
// byte for byte, for copying takes it from there.
//
// The HTML is small: plain text, with a span around what has a colour and a mark
// around marked lines. The classes have one letter and are the same for all
// languages; Classes lists them for the stylesheet.
//
// Go is split by go/scanner and the other languages by chroma, which took about
// a hundred times as long for Go (11 ms against 0.11 ms for a test file of 6 kB)
// and would make most of the time of a build.
package highlight

// The classes of tokens.
const (
	keyword  = "k"
	text     = "s" // strings and characters
	number   = "n"
	comment  = "c"
	function = "f" // a name that is called or declared
	builtin  = "t" // predeclared names, types among them
	added    = "i" // of a diff
	removed  = "d"
)

// Classes are the classes of the spans, in the order of the alphabet. Marked
// lines are in <mark class="hl">, with their line ends.
var Classes = []string{comment, removed, function, added, keyword, number, text, builtin}

// writer writes code with spans around some of it. Spans are given in order and
// do not overlap.
type writer struct {
	code []byte
	out  []byte
	done int // bytes of code that are written

	edges []int // where a mark begins and ends, by turns
	open  bool  // a mark is open
}

// newWriter returns a writer of code with the lines marked, from 1.
func newWriter(code []byte, marked []int) *writer {
	w := &writer{code: code, out: make([]byte, 0, 2*len(code))}
	if len(marked) > 0 {
		w.edges = edges(code, marked)
	}
	return w
}

// edges returns where runs of marked lines begin and end.
func edges(code []byte, marked []int) []int {
	wanted := map[int]bool{}
	for _, n := range marked {
		wanted[n] = true
	}
	var edges []int
	inside := false
	number, start := 1, 0
	for start < len(code) {
		if wanted[number] != inside {
			edges = append(edges, start)
			inside = !inside
		}
		for start < len(code) && code[start] != '\n' {
			start++
		}
		start++
		number++
	}
	if inside {
		edges = append(edges, len(code))
	}
	return edges
}

// span writes what comes before start as it is, and then the code up to end in
// a span. A mark's edge within closes the span and opens it again, so that the
// tags nest.
func (w *writer) span(start, end int, class string) {
	if class == "" || start < w.done || end > len(w.code) || start >= end {
		return
	}
	w.plain(start)
	for w.done < end {
		w.turn()
		stop := end
		if len(w.edges) > 0 {
			stop = min(stop, w.edges[0])
		}
		w.out = append(w.out, `<span class="`...)
		w.out = append(w.out, class...)
		w.out = append(w.out, `">`...)
		w.escape(stop)
		w.out = append(w.out, `</span>`...)
	}
}

// plain writes the code up to end.
func (w *writer) plain(end int) {
	for w.done < end {
		w.turn()
		stop := end
		if len(w.edges) > 0 {
			stop = min(stop, w.edges[0])
		}
		w.escape(stop)
	}
}

// turn opens or closes a mark whose edge is reached.
func (w *writer) turn() {
	if len(w.edges) == 0 || w.edges[0] != w.done {
		return
	}
	w.edges = w.edges[1:]
	if w.open {
		w.out = append(w.out, `</mark>`...)
	} else {
		w.out = append(w.out, `<mark class="hl">`...)
	}
	w.open = !w.open
}

// finish writes what is left and returns everything.
func (w *writer) finish() []byte {
	w.plain(len(w.code))
	w.turn()
	return w.out
}

// escape writes the code up to end as text of HTML. Quotes are left: this is
// never inside an attribute.
func (w *writer) escape(end int) {
	for ; w.done < end; w.done++ {
		switch c := w.code[w.done]; c {
		case '&':
			w.out = append(w.out, "&amp;"...)
		case '<':
			w.out = append(w.out, "&lt;"...)
		case '>':
			w.out = append(w.out, "&gt;"...)
		default:
			w.out = append(w.out, c)
		}
	}
}
