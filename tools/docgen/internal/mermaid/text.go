package mermaid

import (
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// font is a size with the distance between its lines, in pixels.
type font struct{ size, line float64 }

var (
	nodeFont   = font{14, 18}
	edgeFont   = font{13, 16}
	numberFont = font{11, 13}
)

func (f font) height(lines []string) float64 { return float64(len(lines)) * f.line }

var (
	lineBreak = regexp.MustCompile(`(?i)<br\s*/?>`)
	entity    = regexp.MustCompile(`[#&]\w+;`)
	htmlTag   = regexp.MustCompile(`<[A-Za-z/!?][^>\s]*>?`)
	listItem  = regexp.MustCompile(`^(?:\d+[.)]|[-*+]|#{1,6}|>)\s`)
	emphasis  = regexp.MustCompile(`\*\S[^*]*\*|(?:^|\W)_\S(?:.*\S)?_(?:\W|$)|~~\S`)
	autolink  = regexp.MustCompile(`(?:https?://|www\.)\S`)
)

// labelLines cuts a label's source at <br/> and resolves its entities. It
// refuses what Mermaid would draw as something else than the text.
func labelLines(text string) ([]string, error) {
	if strings.Contains(text, "&#") {
		return nil, faultf("&#…; shows a stray & on GitHub; write the entity as #…; without the &")
	}
	for _, e := range entity.FindAllString(text, -1) {
		if decodeEntities(e) == e {
			return nil, faultf("%s is no entity; use a name or number of HTML's, such as #lt; or #35;", e)
		}
	}

	var lines []string
	for _, l := range lineBreak.Split(text, -1) {
		if tag := htmlTag.FindString(l); tag != "" {
			return nil, faultf("%s reads as an HTML tag, of which only <br/> is in the subset that the site draws; write #lt; for <", tag)
		}
		lines = append(lines, strings.TrimSpace(decodeEntities(l)))
	}
	if strings.Join(lines, "") == "" {
		return nil, faultf("the text is empty; write what it should say")
	}
	return lines, nil
}

// flowLines is labelLines for a flowchart, where Mermaid reads labels as
// Markdown and shows "Unsupported markdown" for what it does not know.
func flowLines(text string) ([]string, error) {
	lines, err := labelLines(text)
	if err != nil {
		return nil, err
	}
	if strings.Contains(text, `\n`) {
		return nil, faultf("Mermaid reads \\n in a label as a new line; write <br/>, or word the text differently")
	}
	if strings.Contains(text, "`") {
		return nil, faultf("Mermaid reads backticks in a label as Markdown; leave them out")
	}
	for _, l := range lineBreak.Split(text, -1) {
		switch l = strings.TrimSpace(l); {
		case listItem.MatchString(l):
			return nil, faultf("GitHub shows \"Unsupported markdown\" for a label whose line starts with %q; word it differently", listItem.FindString(l))
		case autolink.MatchString(l):
			return nil, faultf("GitHub shows \"Unsupported markdown\" for an address in a label; leave out http:// and www.")
		case emphasis.MatchString(l):
			return nil, faultf("Mermaid reads %q as Markdown emphasis; leave the marks out", emphasis.FindString(l))
		}
	}
	return lines, nil
}

func decodeEntities(s string) string {
	return entity.ReplaceAllStringFunc(s, func(e string) string {
		name := e[1 : len(e)-1]
		if strings.Trim(name, "0123456789") == "" {
			name = "#" + name
		}
		// HTML knows names without ; too, and reads &nothing; as ¬hing; – but no
		// entity stands for more than two characters.
		if text := html.UnescapeString("&" + name + ";"); utf8.RuneCountInString(text) <= 2 {
			return text
		}
		return e
	})
}

// wrap breaks the lines that are wider than limit pixels, and then evens their
// lengths out, so that no last word stands alone.
func wrap(lines []string, f font, limit float64) []string {
	size := f.size
	var out []string
	for _, l := range lines {
		pieces := breakable(l, size, limit)
		broken := fill(pieces, size, limit)
		for narrower := limit * 0.95; len(broken) > 1 && narrower > limit/2; narrower *= 0.95 {
			again := fill(pieces, size, narrower)
			if len(again) > len(broken) {
				break
			}
			broken = again
		}
		out = append(out, broken...)
	}
	return out
}

// breakable cuts a line where it may be broken: behind spaces, between wide
// characters, and inside a word that is wider than a line.
func breakable(l string, size, limit float64) []string {
	var pieces []string
	var piece strings.Builder
	flush := func() {
		if piece.Len() > 0 {
			pieces = append(pieces, piece.String())
			piece.Reset()
		}
	}
	for _, r := range l {
		if isWide(r) || textWidth(piece.String()+string(r), size) > limit {
			flush()
		}
		piece.WriteRune(r)
		if r == ' ' || isWide(r) {
			flush()
		}
	}
	flush()
	return pieces
}

func fill(pieces []string, size, limit float64) []string {
	lines, current := []string{}, ""
	for _, p := range pieces {
		if current != "" && textWidth(strings.TrimRight(current+p, " "), size) > limit {
			lines = append(lines, strings.TrimRight(current, " "))
			current = ""
		}
		current += p
	}
	return append(lines, strings.TrimRight(current, " "))
}
