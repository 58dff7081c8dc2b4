package book

import (
	"strconv"
	"strings"
	"unicode"
)

// slugs gives out the ids of a page, each once. For headings they are those that
// GitHub gives, so that one fragment works in both places.
type slugs map[string]bool

// heading returns the id of the next heading with this text.
func (s slugs) heading(text string) string { return s.unique(slug(text)) }

// unique returns id, or id-1, id-2 and so on if that is taken.
func (s slugs) unique(id string) string {
	free := id
	for n := 1; s[free]; n++ {
		free = id + "-" + strconv.Itoa(n)
	}
	s[free] = true
	return free
}

// slug is GitHub's rule: letters, marks, digits, underscores and hyphens stay, in
// lower case; a space becomes a hyphen; the rest goes.
func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-', unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc):
			b.WriteRune(r)
		}
	}
	return b.String()
}
