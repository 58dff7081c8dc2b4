package source

import (
	"fmt"
	"net/url"
	"strings"
)

// extent is what is cut out of a file: whole lines, of which the first and the
// last may count from or up to a brace only.
type extent struct {
	start, end int
	head, tail *string // instead of the first and the last line
}

// Cut returns the piece of the file at name that selector, the fragment of a
// link, names; the whole file if it is empty. What does not exist exactly once,
// or has nothing in it, is an error that says what there is instead.
func (t *Tree) Cut(name, selector string, m Modifiers) (Snippet, error) {
	decoded, err := url.PathUnescape(selector)
	if err != nil {
		decoded = selector // a % that encodes nothing stands for itself
	}
	f, err := t.file(name)
	if err != nil {
		return Snippet{}, err
	}
	if f.syntax != nil {
		return Snippet{}, fmt.Errorf("%s is not Go that can be parsed: %w", name, f.syntax)
	}
	snippet := Snippet{Path: name, Name: decoded, Lang: language(name)}
	var cut extent
	switch region, isRegion := strings.CutPrefix(decoded, "region:"); {
	case decoded == "":
		cut, err = f.whole(m)
	case isRegion:
		cut, err = f.region(region, m)
	case !f.isGo():
		err = fmt.Errorf("%s is not Go: only #region:name can be cut out of it, or the whole file with no fragment", name)
	default:
		var s *symbol
		if s, err = t.symbol(f, decoded); err == nil {
			snippet.Test, snippet.From, snippet.To = s.test, s.start, s.end
			cut, err = f.symbolExtent(s, m)
		}
	}
	if err != nil {
		return Snippet{}, err
	}
	if snippet.From == 0 {
		snippet.From, snippet.To = cut.start, cut.end
	}
	return f.render(snippet, cut, m)
}

func (f *file) whole(m Modifiers) (extent, error) {
	if m.Body || m.Doc || m.Context > 0 {
		return extent{}, fmt.Errorf("the whole of %s is embedded: body, doc and context need a fragment that names a part of it", f.path)
	}
	return extent{start: 1, end: len(f.lines)}, nil
}

func (f *file) region(name string, m Modifiers) (extent, error) {
	if m.Body || m.Doc {
		return extent{}, fmt.Errorf("region %s is cut as it stands: body and doc are for functions and declarations", name)
	}
	for _, r := range f.regions {
		if r.Name == name {
			return extent{start: r.Line + 1, end: r.End - 1}, nil
		}
	}
	if why, ok := f.broken[name]; ok {
		return extent{}, fmt.Errorf("region %s is not well marked: %s", name, why)
	}
	var names []string
	for _, r := range f.regions {
		names = append(names, r.Name)
	}
	return extent{}, fmt.Errorf("no region %s in %s%s", name, f.path, Instead(name, names))
}

// symbolExtent is what m wants of a symbol.
func (f *file) symbolExtent(s *symbol, m Modifiers) (extent, error) {
	switch {
	case m.Body && s.body == nil:
		return extent{}, fmt.Errorf("%s of %s has no body: it is not a function that is written out there", s.name, f.path)
	case m.Body:
		return f.bodyExtent(s, m.Context > 0), nil
	case m.Doc && s.doc.Text() == "": // which leaves out directives, such as our markers
		return extent{}, fmt.Errorf("%s of %s has no doc comment: leave doc out, or write one", s.name, f.path)
	case s.doc != nil && (m.Doc || s.withDoc):
		return extent{start: f.line(s.doc.Pos()), end: s.end}, nil
	}
	return extent{start: s.start, end: s.end}, nil
}

// bodyExtent is what is between the braces. wholeLines keeps what else is on
// the lines of the braces, for what stands around them follows.
func (f *file) bodyExtent(s *symbol, wholeLines bool) extent {
	from, to := f.offset(s.body.Lbrace)+1, f.offset(s.body.Rbrace)
	cut := extent{start: f.line(s.body.Lbrace), end: f.line(s.body.Rbrace)}
	if cut.start == cut.end {
		if text := strings.TrimSpace(string(f.src[from:to])); !wholeLines {
			cut.head = &text
		}
		return cut
	}
	head, _, _ := strings.Cut(string(f.src[from:to]), "\n")
	tail := f.before(s.body.Rbrace)
	head, tail = strings.TrimSpace(head), strings.TrimSpace(tail)
	switch {
	case head == "":
		cut.start++
	case !wholeLines:
		cut.head = &head
	}
	switch {
	case tail == "":
		cut.end--
	case !wholeLines:
		cut.tail = &tail
	}
	return cut
}
