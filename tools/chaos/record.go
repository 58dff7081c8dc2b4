//go:build unix

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The kinds of records.
const (
	granted  = "grants"   // a token that is new to its owner
	renewed  = "renewals" // the same token again
	written  = "writes"   // admitted and acknowledged
	refused  = "stale writes refused"
	held     = "holds"      // of a lock, released in good order
	lockLost = "lost holds" // which their session did not survive
	failed   = "errors"     // whatever else was answered
)

// record is what a process says on its standard output, one line each. A table
// would not do: a crash could forget a record together with what it tells.
type record struct {
	Kind  string
	Name  string `json:",omitempty"` // role or lock
	Owner string `json:",omitempty"`
	Token int64  `json:",omitempty"`

	// The call, by the process's own clock.
	Began time.Duration `json:",omitempty"`
	Ended time.Duration `json:",omitempty"`

	// Lapsed says that the owner's lease cannot have been live any more.
	Lapsed bool `json:",omitempty"`

	ID string `json:",omitempty"` // of a write

	// From and To are two ticks of the server's sequence, the first after the
	// grant, the second before the release. Holders is how many sessions had
	// the lock in between.
	From    int64 `json:",omitempty"`
	To      int64 `json:",omitempty"`
	Holders int   `json:",omitempty"`

	Error string `json:",omitempty"`
}

// report is a run and what became of it.
type report struct {
	history
	took   time.Duration
	seed   uint64
	deeds  map[string]int // what was broken, how often
	failed map[string]int // errors by their kind
}

func (r *report) summary() string {
	counts := map[string]int{}
	for _, process := range r.processes {
		for _, rec := range process {
			counts[rec.Kind]++
		}
	}
	return fmt.Sprintf("%v, seed %d, %d processes\n  done:   %s\n  broken: %s\n  errors: %s\n  violations: %d",
		r.took.Round(time.Second), r.seed, len(r.processes),
		list(counts), list(r.deeds), list(r.failed), len(r.violations()))
}

// verdict is nil, or an error that shows what is wrong.
func (r *report) verdict() error {
	found := r.violations()
	if len(found) == 0 {
		return nil
	}
	const most = 20
	shown := found[:min(len(found), most)]
	return fmt.Errorf("%d violations:\n  %s", len(found), strings.Join(shown, "\n  "))
}

// list writes counts, the largest first.
func list(counts map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%d %s", counts[key], key))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}
