package relaytest

import (
	"context"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// LeaseStoreSubject is what the rules for a relay.LeaseStore work on.
type LeaseStoreSubject struct {
	// A and B are two stores over one backend. They stand for two processes. An
	// adapter that lives inside one process gives the same store twice. When A
	// is a relay.ReleaseWaiter, the rules for that apply too.
	A, B relay.LeaseStore

	// Elapse returns when at least d has passed on the store's clock. The
	// rules call it with 60 ms at most, or with a second if Exact says so. It
	// is safe for concurrent use.
	Elapse func(d time.Duration)

	// Exact says that the store's clock stands still unless Elapse moves it,
	// and that Elapse moves it by exactly d: the clock of a test. The rules
	// about the very instant of expiry need it and are skipped without.
	Exact bool

	// AdvanceToken is A's. nil when the adapter has none; the rules about it,
	// and those about the last token, are then skipped.
	AdvanceToken func(ctx context.Context, role string, atLeast relay.Token) error

	// Close closes A, and leaves B and the backend as they are. nil when the
	// adapter has no Close; the rule about it is then skipped.
	Close func(context.Context) error
}

func (s LeaseStoreSubject) missing() string {
	switch {
	case s.A == nil:
		return "A"
	case s.B == nil:
		return "B"
	case s.Elapse == nil:
		return "Elapse"
	}
	return ""
}

// LeaseStore checks each rule for a relay.LeaseStore in a subtest of t. open is
// called once for each rule, with the subtest's t: it returns a subject over a
// new backend that has seen no role, and uses t.Cleanup to remove it.
func LeaseStore(t *testing.T, open func(t testing.TB) LeaseStoreSubject) {
	t.Helper()
	run(t, leaseStoreRules, open)
}

// CheckLeaseStore is LeaseStore with the verdict as an error: nil, or the
// broken rules joined, each with its name and what happened. It starts no
// subtest, so it can run in a testing/synctest bubble, and t does not fail.
func CheckLeaseStore(t testing.TB, open func(t testing.TB) LeaseStoreSubject) error {
	t.Helper()
	return report(t, leaseStoreRules, open)
}
