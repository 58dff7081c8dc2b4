package site

import (
	"fmt"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

// tally says how a sample's tests ended.
type tally struct {
	Class string // of the badge: passed only if all have run and passed
	Text  string
}

func newTally(t results.Tally) tally {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{t.Passed, "passed"}, {t.Failed, "failed"}, {t.Skipped, "skipped"}, {t.NotRun, "not run"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	switch {
	case t.Passed+t.Failed+t.Skipped == 0:
		return tally{"notrun", "not recorded"}
	case t.Failed > 0:
		return tally{"failed", strings.Join(parts, ", ")}
	case t.Skipped+t.NotRun > 0:
		return tally{"skipped", strings.Join(parts, ", ")}
	}
	return tally{"passed", strings.Join(parts, ", ")}
}

// badge says how one test ended.
type badge struct{ Class, Text string }

// newBadge shows a result that is missing as not run.
func newBadge(r *results.Result) badge {
	if r == nil {
		return badge{"notrun", string(results.NotRun)}
	}
	switch r.Status {
	case results.Passed:
		return badge{"passed", "passed"}
	case results.Failed:
		return badge{"failed", "failed"}
	case results.Skipped:
		if r.Why != "" {
			// The rest of the message is in what the test printed.
			why, _, _ := strings.Cut(r.Why, "\n")
			return badge{"skipped", "skipped: " + strings.TrimSuffix(why, ":")}
		}
		return badge{"skipped", "skipped"}
	}
	return badge{"notrun", string(results.NotRun)}
}
