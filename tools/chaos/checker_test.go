//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// good is a history of two processes that keeps every promise: a frozen writer
// is refused, and whoever takes over has the next token.
func good() history {
	return history{
		processes: [][]record{
			{
				{Kind: granted, Name: "role", Owner: "a", Token: 1, Began: 1, Ended: 2},
				{Kind: written, Name: "role", Owner: "a", Token: 1, ID: "a/1"},
				{Kind: renewed, Name: "role", Owner: "a", Token: 1, Began: 3, Ended: 4},
				{Kind: refused, Name: "role", Owner: "a", Token: 1, ID: "a/2"},
				{Kind: granted, Name: "role", Owner: "a", Token: 3, Began: 8, Ended: 9},
				{Kind: held, Name: "lock", Owner: "a", From: 1, To: 2, Holders: 1},
			},
			{
				{Kind: granted, Name: "role", Owner: "b", Token: 2, Began: 5, Ended: 7},
				{Kind: written, Name: "role", Owner: "b", Token: 2, ID: "b/1"},
				{Kind: granted, Name: "another", Owner: "b", Token: 1, Began: 8, Ended: 9},
				{Kind: held, Name: "lock", Owner: "b", From: 4, To: 6, Holders: 1},
				{Kind: held, Name: "another", Owner: "b", From: 1, To: 7, Holders: 1},
				{Kind: lockLost, Name: "lock", Owner: "b", From: 1},
				{Kind: failed, Error: "57P01"},
			},
		},
		stored: []write{{"role", 1, "a/1"}, {"role", 1, "a/unacknowledged"}, {"role", 2, "b/1"}},
	}
}

func TestChecker_AHistoryThatKeepsThePromisesPasses(t *testing.T) {
	h := good()
	require.Empty(t, h.violations())
}

func TestChecker_EachBrokenPromiseIsShown(t *testing.T) {
	for what, broken := range map[string]struct {
		by   func(h *history)
		want string
	}{
		"two owners of a token, in two processes": {
			func(h *history) { h.processes[1][0].Token = 1 },
			"token 1 of role was granted to a and to b",
		},
		"a token that goes back": {
			func(h *history) { h.processes[0][4].Token = 0 },
			"role: token 0 for a at 8ns, after token 1 for a at 2ns",
		},
		"a lapsed lease that is renewed": {
			func(h *history) { h.processes[0][2].Lapsed = true },
			"a kept token 1 after its lease had lapsed",
		},
		"a stale write that is accepted": {
			func(h *history) { h.stored = append(h.stored, write{"role", 1, "a/2"}) },
			"write a/2 with token 1 was accepted after token 2",
		},
		"an acknowledged write that is forgotten": {
			func(h *history) { h.stored = h.stored[:2] },
			"write b/1 with token 2 was acknowledged and is gone",
		},
		"two holders of a lock": {
			func(h *history) { h.processes[1][3].From = 1 },
			"a lock has one holder",
		},
		"a lock that two sessions have": {
			func(h *history) { h.processes[0][5].Holders = 2 },
			"when 2 sessions had the lock",
		},
		"a lock that no session has": {
			func(h *history) { h.processes[0][5].Holders = 0 },
			"when 0 sessions had the lock",
		},
		"a session that is left behind": {
			func(h *history) { h.left = []string{"a session is left: pid 7"} },
			"a session is left: pid 7",
		},
	} {
		t.Run(what, func(t *testing.T) {
			h := good()
			broken.by(&h)
			found := h.violations()
			require.Len(t, found, 1)
			require.Contains(t, found[0], broken.want)
			verdict := (&report{history: h, took: time.Second}).verdict()
			require.ErrorContains(t, verdict, broken.want, "the evidence is shown")
		})
	}
}

func TestChecker_CallsThatOverlapHaveNoOrder(t *testing.T) {
	h := good()
	h.processes[1] = append(h.processes[1], // said later, and asked before the answer to token 5
		record{Kind: granted, Name: "role", Owner: "c", Token: 5, Began: 10, Ended: 20},
		record{Kind: granted, Name: "role", Owner: "d", Token: 4, Began: 11, Ended: 15},
	)
	require.Empty(t, h.violations())
}
