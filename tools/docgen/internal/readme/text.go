package readme

import (
	"regexp"
	"strings"
)

// codeSpan is what Markdown takes as it is. Spans with more backticks than two
// stand in no title.
var codeSpan = regexp.MustCompile("``[^`].*?``|`[^`]+`")

// inline is a text of the front matter, or of a claim, as Markdown that says the
// same. What stands between backticks is code there too.
func inline(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	var b strings.Builder
	at := 0
	for _, span := range codeSpan.FindAllStringIndex(s, -1) {
		b.WriteString(escape(s[at:span[0]]))
		b.WriteString(s[span[0]:span[1]])
		at = span[1]
	}
	b.WriteString(escape(s[at:]))
	return b.String()
}

// cell is inline in a table, where a | ends the cell in code as well.
func cell(s string) string { return strings.ReplaceAll(inline(s), "|", `\|`) }

// code is a name in a code span of a table.
func code(name string) string { return "`" + strings.ReplaceAll(name, "|", `\|`) + "`" }

var (
	special = regexp.MustCompile(`[\\*<\[\]~]|&(?:#?\w+;)`)
	// A _ within a word is one: so are the names of most tests.
	outerUnderscore = regexp.MustCompile(`(^|[^\pL\pN_])(_+)|(_+)([^\pL\pN_]|$)`)
)

// escape puts a backslash before what would be markup.
func escape(s string) string {
	s = special.ReplaceAllString(s, `\$0`)
	return outerUnderscore.ReplaceAllStringFunc(s, func(found string) string {
		return strings.ReplaceAll(found, "_", `\_`)
	})
}
