package relaytest

import (
	"context"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// NodeRegistrySubject is what the rules for a relay.NodeRegistry work on.
type NodeRegistrySubject struct {
	// A and B are two registries over one backend and of one group. They stand
	// for two processes. An adapter that lives inside one process gives the
	// same registry twice.
	A, B relay.NodeRegistry

	// OtherGroup shares the backend with A and B and belongs to another group.
	// nil when the adapter has no groups.
	OtherGroup relay.NodeRegistry

	// Elapse returns when at least d has passed on the registry's clock. The
	// rules call it with 600 ms at most, or with a second if Exact says so.
	Elapse func(d time.Duration)

	// Exact says that the registry's clock stands still unless Elapse moves it,
	// and that Elapse moves it by exactly d: the clock of a test. The rule
	// about the very instant of the lapse needs it and is skipped without.
	Exact bool

	// Close closes A, and leaves B and the backend as they are. nil when the
	// adapter has no Close; the rule about it is then skipped.
	Close func(context.Context) error
}

func (s NodeRegistrySubject) missing() string {
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

// NodeRegistry checks each rule for a relay.NodeRegistry in a subtest of t.
// open is called once for each rule, with the subtest's t and the liveness TTL
// that the rule wants: it returns a subject over a new backend without nodes,
// and uses t.Cleanup to remove it.
func NodeRegistry(t *testing.T, open func(t testing.TB, livenessTTL time.Duration) NodeRegistrySubject) {
	t.Helper()
	run(t, nodeRegistryRules, opener(open))
}

// CheckNodeRegistry is NodeRegistry with the verdict as an error: nil, or the
// broken rules joined, each with its name and what happened. It starts no
// subtest, so it can run in a testing/synctest bubble, and t does not fail.
func CheckNodeRegistry(t testing.TB, open func(t testing.TB, livenessTTL time.Duration) NodeRegistrySubject) error {
	t.Helper()
	return report(t, nodeRegistryRules, opener(open))
}

// openWith returns a subject whose liveness TTL is the given one.
type openWith func(livenessTTL time.Duration) NodeRegistrySubject

func opener(open func(t testing.TB, livenessTTL time.Duration) NodeRegistrySubject) func(t testing.TB) openWith {
	return func(t testing.TB) openWith {
		return func(livenessTTL time.Duration) NodeRegistrySubject { return complete(open(t, livenessTTL)) }
	}
}

// missing is left to the subjects that a rule opens.
func (openWith) missing() string { return "" }
