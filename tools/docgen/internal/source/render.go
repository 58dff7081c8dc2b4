package source

import (
	"bytes"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// line is a line of a snippet.
type line struct {
	number  int // in the file
	text    []byte
	literal bool // its leading blanks are not layout
}

// render takes the lines of cut out of the file and makes them the code of s.
func (f *file) render(s Snippet, cut extent, m Modifiers) (Snippet, error) {
	cut = f.widen(cut, m.Context)
	for _, fault := range f.findings {
		if fault.Line >= cut.start && fault.Line <= cut.end {
			return Snippet{}, fmt.Errorf("a region marker in it is wrong: %s", fault)
		}
	}
	lines := f.take(cut)
	if len(lines) == 0 {
		return Snippet{}, fmt.Errorf("%s of %s is empty: there is nothing to show", display(s.Name), f.path)
	}
	outdent(lines)
	s.StartLine, s.EndLine = lines[0].number, lines[len(lines)-1].number
	for _, line := range lines {
		s.Code = append(append(s.Code, line.text...), '\n')
	}
	var err error
	s.Marked, err = marked(lines, m.Highlight)
	if err != nil {
		return Snippet{}, fmt.Errorf("%w in %s of %s: correct it, or take it out", err, display(s.Name), f.path)
	}
	return s, nil
}

func display(selector string) string {
	if selector == "" {
		return "the whole"
	}
	return selector
}

// widen adds n lines on both sides, as many as the file has. Lines that are
// not shown do not count.
func (f *file) widen(cut extent, n int) extent {
	for added := 0; added < n && cut.start > 1; {
		cut.start--
		if !f.hidden[cut.start] {
			added++
		}
	}
	for added := 0; added < n && cut.end < len(f.lines); {
		cut.end++
		if !f.hidden[cut.end] {
			added++
		}
	}
	return cut
}

// take returns the lines of cut that are shown, without blank ones at either
// end and without the second of two blank ones that only a marker kept apart.
func (f *file) take(cut extent) []line {
	var lines []line
	afterMarker := false
	for n := cut.start; n <= cut.end; n++ {
		if f.hidden[n] {
			afterMarker = true
			continue
		}
		next := line{number: n, text: f.lines[n-1], literal: f.literal[n]}
		switch {
		case n == cut.start && cut.head != nil:
			next.text, next.literal = []byte(*cut.head), true
		case n == cut.end && cut.tail != nil:
			next.text, next.literal = []byte(*cut.tail), true
		}
		doubled := afterMarker && isBlank(next) && len(lines) > 0 && isBlank(lines[len(lines)-1])
		afterMarker = false
		if !doubled {
			lines = append(lines, next)
		}
	}
	for len(lines) > 0 && isBlank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && isBlank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func isBlank(l line) bool { return len(bytes.TrimSpace(l.text)) == 0 }

// outdent takes away the white space with which all lines begin. Lines that
// begin inside a raw string keep theirs, and have no say: moved, they would be
// another program.
func outdent(lines []line) {
	var common []byte
	first := true
	for _, l := range lines {
		if l.literal || isBlank(l) {
			continue
		}
		space := l.text[:len(l.text)-len(bytes.TrimLeft(l.text, " \t"))]
		if first {
			common, first = space, false
		}
		for !bytes.HasPrefix(space, common) {
			common = common[:len(common)-1]
		}
	}
	for i, l := range lines {
		switch {
		case l.literal:
		case isBlank(l):
			lines[i].text = nil
		default:
			lines[i].text = l.text[len(common):]
		}
	}
}

// marked returns the lines, counted from 1, that have one of the words.
func marked(lines []line, words []string) ([]int, error) {
	var numbers []int
	for _, word := range words {
		found := false
		for i, l := range lines {
			if hasWord(l.text, []byte(word)) {
				numbers = append(numbers, i+1)
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("hl=%s: %[1]s does not occur", word)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// hasWord tells whether word occurs in text other than as a part of a longer
// word.
func hasWord(text, word []byte) bool {
	first, _ := utf8.DecodeRune(word)
	last, _ := utf8.DecodeLastRune(word)
	for from := 0; ; {
		i := bytes.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(word)
		before, _ := utf8.DecodeLastRune(text[:start])
		after, _ := utf8.DecodeRune(text[end:])
		if !(inWord(first) && inWord(before)) && !(inWord(last) && inWord(after)) {
			return true
		}
		from = start + 1
	}
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}
