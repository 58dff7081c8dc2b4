package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// partly tells whether subtests of a test were skipped, and why. For go test a
// test passes although all of its subtests are skipped; for a reader what it
// promises has not been seen then.
func (s *Set) partly(dir, name string) (why string, partly bool) {
	skipped, all := 0, 0
	for _, sub := range slices.Sorted(maps.Keys(s.tests[dir])) {
		test := s.tests[dir][sub]
		if !strings.HasPrefix(sub, name+"/") || test.status != Skipped && test.parent {
			continue // a subtest with subtests is no more than these
		}
		all++
		if test.status != Skipped {
			continue
		}
		skipped++
		if why == "" {
			why = strings.TrimSpace(test.skipped)
		}
	}
	if skipped == 0 || skipped == all {
		return why, skipped > 0
	}
	return strings.TrimSuffix(fmt.Sprintf("%d of its %d subtests: %s", skipped, all, why), ": "), true
}
