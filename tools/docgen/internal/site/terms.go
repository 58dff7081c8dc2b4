package site

import (
	"strings"
	"unicode"
)

// terms are the words of a text as the search knows them: in lower case and
// without their commonest endings. A name such as HoldAtLeast is a term as a
// whole, and each of its words is one. assets/search.js does the same with what
// the reader types, but for the parts of names.
func terms(text string) []string {
	var found []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		parts := camel(word)
		if len(parts) > 1 {
			found = append(found, stem(strings.ToLower(word)))
		}
		for _, part := range parts {
			if term := stem(strings.ToLower(part)); !stopWords[term] {
				found = append(found, term)
			}
		}
	}
	return found
}

// camel splits a name before each capital letter that follows a small one.
func camel(name string) []string {
	var parts []string
	start := 0
	var last rune
	for i, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			parts = append(parts, name[start:i])
			start = i
		}
		last = r
	}
	return append(parts, name[start:])
}

// stem takes an ending off, if enough of the word remains. What is left needs to
// be no word: fence, fences, fenced and fencing are all fenc.
func stem(word string) string {
	for _, ending := range []struct {
		text  string
		least int
	}{{"ing", 4}, {"ed", 4}, {"es", 4}, {"s", 3}, {"e", 4}} {
		rest, ok := strings.CutSuffix(word, ending.text)
		if ok && len(rest) >= ending.least && !strings.HasSuffix(word, "ss") {
			return rest
		}
	}
	return word
}

// stopWords say nothing about what a section is about. They are stems.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(`a an and are as at be been but by can do does
		for from had has have how if in into is it its may no nor not of on one or
		other our so such than that the their them then there these they this those
		to too up was we were what when where which while who why will with would you your`) {
		set[stem(word)] = true
	}
	return set
}()
