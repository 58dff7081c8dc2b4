package relaytest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

// broken is an adapter that breaks one promise, and the rule that names it.
type broken[S any] struct {
	adapter string
	rule    string
	open    func(t testing.TB) S
}

// requireRejected runs the suite over each broken adapter, which must be
// rejected by the rule that names its fault, and over one that does nothing
// right, which must be rejected by every rule. Each rule must have rejected one
// of the former: a rule that only the latter breaks has not shown its worth.
//
// It all happens in bubbles, where a rule that waits in vain costs no time.
func requireRejected[S any](
	t *testing.T, check func(testing.TB, func(testing.TB) S) error, hopeless func(testing.TB) S, adapters []broken[S],
) {
	t.Helper()
	unproven := rejects(t, "an adapter that does nothing right", check, hopeless)
	for _, a := range adapters {
		by := rejects(t, a.adapter, check, a.open)
		require.Contains(t, by, a.rule, "%s: rejected, but not by the rule that names its fault", a.adapter)
		delete(unproven, a.rule)
	}
	require.Empty(t, unproven, "rules that no adapter with a single fault has broken")
}

// rejects returns the rules that rejected an adapter, each with what it said.
func rejects[S any](
	t *testing.T, adapter string, check func(testing.TB, func(testing.TB) S) error, open func(testing.TB) S,
) map[string]string {
	t.Helper()
	by := make(map[string]string)
	t.Run(adapter, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			err := check(t, open)
			require.Error(t, err, "the suite passed a broken adapter")
			for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
				rule, said, _ := strings.Cut(e.Error(), ": ")
				by[rule] = said
			}
		})
	})
	return by
}

var errHopeless = errors.New("this adapter does nothing right")

// A suite that runs as subtests must fail the one that is named for the broken
// promise and explain it there. That it fails is seen from outside: it runs in
// a process of its own.
func TestLocker_FailsTheSubtestThatNamesTheBrokenPromise(t *testing.T) {
	const inChild = "RELAYTEST_RUN_BROKEN_LOCKER"
	if os.Getenv(inChild) != "" {
		relaytest.Locker(t, func(testing.TB) relaytest.LockerSubject {
			return relaytest.LockerSubject{A: memory.NewLocker(), B: memory.NewLocker()}
		})
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), inChild+"=1")
	output, err := child.CombinedOutput()
	require.ErrorContains(t, err, "exit status 1", "the suite passed two lockers that don't see each other:\n%s", output)

	lines := strings.Split(string(output), "\n")
	verdict := func(verdict, rule string) bool {
		want := fmt.Sprintf("    --- %s: %s/%s", verdict, t.Name(), strings.ReplaceAll(rule, " ", "_"))
		return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) })
	}
	require.True(t, verdict("FAIL", "a held name is refused, to another process too"), "no such line in:\n%s", output)
	require.True(t, verdict("PASS", "a released name is free at once"), "no such line in:\n%s", output)
	require.True(t, verdict("SKIP", "a lock that is lost says so"), "no such line in:\n%s", output)
	require.Contains(t, string(output), `TryAcquire("job") got the lock: a lock has one holder`)
}

// An adapter need not offer more than its interface.
func TestSuites_AskForNoMoreThanTheInterface(t *testing.T) {
	t.Run("Locker", func(t *testing.T) {
		relaytest.Locker(t, func(testing.TB) relaytest.LockerSubject {
			locker := memory.NewLocker()
			return relaytest.LockerSubject{A: locker, B: locker}
		})
	})
	t.Run("LeaseStore", func(t *testing.T) {
		relaytest.LeaseStore(t, func(testing.TB) relaytest.LeaseStoreSubject {
			clock := &manualClock{}
			bare := struct{ relay.LeaseStore }{memory.NewLeaseStore(clock.Now)}
			return relaytest.LeaseStoreSubject{A: bare, B: bare, Elapse: clock.Advance}
		})
	})
	t.Run("NodeRegistry", func(t *testing.T) {
		relaytest.NodeRegistry(t, func(_ testing.TB, ttl time.Duration) relaytest.NodeRegistrySubject {
			clock := &manualClock{}
			nodes := memory.NewNodeRegistry(ttl, clock.Now)
			return relaytest.NodeRegistrySubject{A: nodes, B: nodes, Elapse: clock.Advance}
		})
	})
}

// closer is the Close of an adapter that is open once and closed for ever.
type closer struct{ closed chan struct{} }

func newCloser() closer { return closer{closed: make(chan struct{})} }

func (c closer) err(closedErr error) error {
	select {
	case <-c.closed:
		return closedErr
	default:
		return nil
	}
}

func (c closer) Close(context.Context) error {
	if c.err(errHopeless) == nil {
		close(c.closed)
	}
	return nil
}

func TestSuites_NameTheFieldThatASubjectLacks(t *testing.T) {
	locker, store, registry := memory.NewLocker(), memory.NewLeaseStore(nil), memory.NewNodeRegistry(0, nil)
	for _, s := range []relaytest.LockerSubject{{}, {A: locker}} {
		err := relaytest.CheckLocker(t, func(testing.TB) relaytest.LockerSubject { return s })
		require.ErrorContains(t, err, "is nil: open has to set it")
	}
	for _, s := range []relaytest.LeaseStoreSubject{{}, {A: store}, {A: store, B: store}} {
		err := relaytest.CheckLeaseStore(t, func(testing.TB) relaytest.LeaseStoreSubject { return s })
		require.ErrorContains(t, err, "is nil: open has to set it")
	}
	for _, s := range []relaytest.NodeRegistrySubject{{}, {A: registry}, {A: registry, B: registry}} {
		err := relaytest.CheckNodeRegistry(t, func(testing.TB, time.Duration) relaytest.NodeRegistrySubject { return s })
		require.ErrorContains(t, err, "is nil: open has to set it")
	}
}
