package relaytest

import (
	"context"
	"testing"

	"github.com/relay-samples/relay-go/relay"
)

// LockerSubject is what the rules for a relay.Locker work on.
type LockerSubject struct {
	// A and B are two Lockers over one backend. They stand for two processes.
	// An adapter that lives inside one process gives the same Locker twice.
	A, B relay.Locker

	// Lose makes a lock that A holds be lost by force, the way it happens in
	// production: for example, it kills the session behind it. It need not wait
	// until the loss was noticed. nil when locks of the adapter can't be lost;
	// the rules about loss are then skipped.
	Lose func(relay.Lock)

	// Close closes A, and leaves B and the backend as they are. nil when the
	// adapter has no Close; the rules about it are then skipped.
	Close func(context.Context) error
}

func (s LockerSubject) missing() string {
	switch {
	case s.A == nil:
		return "A"
	case s.B == nil:
		return "B"
	}
	return ""
}

// Locker checks each rule for a relay.Locker in a subtest of t. open is called
// once for each rule, with the subtest's t: it returns a subject over a new
// backend in which nothing is held, and uses t.Cleanup to remove it.
func Locker(t *testing.T, open func(t testing.TB) LockerSubject) {
	t.Helper()
	run(t, lockerRules, open)
}

// CheckLocker is Locker with the verdict as an error: nil, or the broken rules
// joined, each with its name and what happened. It starts no subtest, so it can
// run in a testing/synctest bubble, and t does not fail.
func CheckLocker(t testing.TB, open func(t testing.TB) LockerSubject) error {
	t.Helper()
	return report(t, lockerRules, open)
}
