//go:build unix

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// history is all that is known after a run.
type history struct {
	processes [][]record // of each, in the order in which it said them
	stored    []write    // the table of writes, in the order of their admission
	left      []string   // what should have gone with the processes
}

// write is a row that a fence has admitted.
type write struct {
	role  string
	token int64
	id    string
}

// violations says what broke a promise, empty when all were kept.
func (h *history) violations() []string {
	return slices.Concat(
		h.sharedTokens(), h.fallingTokens(), h.revivedLeases(),
		h.staleWrites(), h.lostWrites(), h.sharedLocks(), h.left,
	)
}

func (h *history) each(visit func(process int, r record)) {
	for i, process := range h.processes {
		for _, r := range process {
			visit(i, r)
		}
	}
}

func (r record) hasToken() bool { return r.Kind == granted || r.Kind == renewed }

// sharedTokens finds tokens that two owners were granted.
func (h *history) sharedTokens() (found []string) {
	type term struct {
		role  string
		token int64
	}
	owners := map[term]string{}
	h.each(func(_ int, r record) {
		if !r.hasToken() {
			return
		}
		t := term{r.Name, r.Token}
		if owner, seen := owners[t]; seen && owner != r.Owner {
			found = append(found, fmt.Sprintf("token %d of %s was granted to %s and to %s: a token belongs to one owner",
				r.Token, r.Name, owner, r.Owner))
		}
		owners[t] = r.Owner
	})
	return found
}

// fallingTokens finds, within each process, calls that began after another one
// had ended and were answered with a lower token.
func (h *history) fallingTokens() (found []string) {
	for _, process := range h.processes {
		byRole := map[string][]record{}
		for _, r := range process {
			if r.hasToken() {
				byRole[r.Name] = append(byRole[r.Name], r)
			}
		}
		for _, records := range byRole {
			ended := slices.SortedFunc(slices.Values(records), func(a, b record) int { return cmp.Compare(a.Ended, b.Ended) })
			began := slices.SortedFunc(slices.Values(records), func(a, b record) int { return cmp.Compare(a.Began, b.Began) })
			var highest record
			for _, r := range began {
				for len(ended) > 0 && ended[0].Ended < r.Began {
					if ended[0].Token > highest.Token {
						highest = ended[0]
					}
					ended = ended[1:]
				}
				if r.Token < highest.Token {
					found = append(found, fmt.Sprintf("%s: token %d for %s at %v, after token %d for %s at %v: tokens never go back",
						r.Name, r.Token, r.Owner, r.Began, highest.Token, highest.Owner, highest.Ended))
				}
			}
		}
	}
	return found
}

// revivedLeases finds leases that had lapsed and were renewed.
func (h *history) revivedLeases() (found []string) {
	h.each(func(_ int, r record) {
		if r.Kind == renewed && r.Lapsed {
			found = append(found, fmt.Sprintf("%s: %s kept token %d after its lease had lapsed: that is a new term",
				r.Name, r.Owner, r.Token))
		}
	})
	return found
}

// staleWrites finds writes that a fence admitted after a higher token.
func (h *history) staleWrites() (found []string) {
	highest := map[string]int64{}
	for _, w := range h.stored {
		if w.token < highest[w.role] {
			found = append(found, fmt.Sprintf("%s: write %s with token %d was accepted after token %d: a fence never goes back",
				w.role, w.id, w.token, highest[w.role]))
		}
		highest[w.role] = max(highest[w.role], w.token)
	}
	return found
}

// lostWrites finds writes that were acknowledged and are not there.
func (h *history) lostWrites() (found []string) {
	there := map[string]bool{}
	for _, w := range h.stored {
		there[w.id] = true
	}
	h.each(func(_ int, r record) {
		if r.Kind == written && !there[r.ID] {
			found = append(found, fmt.Sprintf("%s: write %s with token %d was acknowledged and is gone", r.Name, r.ID, r.Token))
		}
	})
	return found
}

// sharedLocks finds holds of one lock that overlap. A hold counts if its
// release was answered with yes: the session had it all the time.
func (h *history) sharedLocks() (found []string) {
	byName := map[string][]record{}
	h.each(func(_ int, r record) {
		if r.Kind == held {
			byName[r.Name] = append(byName[r.Name], r)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		holds := byName[name]
		slices.SortFunc(holds, func(a, b record) int { return cmp.Compare(a.From, b.From) })
		for i, r := range holds {
			if r.Holders != 1 {
				found = append(found, fmt.Sprintf("%s: %s held it from tick %d to %d, when %d sessions had the lock",
					name, r.Owner, r.From, r.To, r.Holders))
			}
			if i > 0 && r.From < holds[i-1].To {
				found = append(found, fmt.Sprintf("%s: %s held it from tick %d to %d, and %s from %d to %d: a lock has one holder",
					name, holds[i-1].Owner, holds[i-1].From, holds[i-1].To, r.Owner, r.From, r.To))
			}
		}
	}
	return found
}
