// Package finding is how docgen tells what is wrong, and where.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is one fault, at a place that somebody can mend.
type Finding struct {
	File      string // from the repository's root, with slashes
	Line, Col int    // counted from 1
	Message   string // what is wrong, and the mend
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, max(f.Line, 1), max(f.Col, 1), f.Message)
}

// Sort orders findings by place and drops those that say the same.
func Sort(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings)
}

// Indent is what something printed, as a finding shows it: below the finding's
// own line, and not to be taken for another one.
func Indent(printed string) string {
	printed = strings.TrimRight(printed, "\n")
	if printed == "" {
		return " (nothing)"
	}
	return "\n\t" + strings.ReplaceAll(printed, "\n", "\n\t")
}
