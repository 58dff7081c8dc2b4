package relaytest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

func TestCheckLocker_PassesAnAdapterThatKeepsThePromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, relaytest.CheckLocker(t, func(testing.TB) relaytest.LockerSubject {
			s, _ := newSubject()
			return *s
		}))
	})
}

func TestCheckLocker_RejectsEachBrokenAdapterByTheRuleItBreaks(t *testing.T) {
	type breakIt = func(testing.TB, *relaytest.LockerSubject, *process)
	var adapters []broken[relaytest.LockerSubject]
	breaks := func(rule, adapter string, f breakIt) {
		adapters = append(adapters, broken[relaytest.LockerSubject]{adapter, rule, func(t testing.TB) relaytest.LockerSubject {
			s, a := newSubject()
			f(t, s, a)
			return *s
		}})
	}

	const exclusive = "a held name is refused, to another process too"
	breaks(exclusive, "two processes that don't see each other", func(_ testing.TB, s *relaytest.LockerSubject, _ *process) {
		s.B = newProcess(memory.NewLocker())
	})
	breaks(exclusive, "a refusal without ErrNotAcquired", both(trying(
		func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			got, err := good.TryAcquire(ctx, name)
			if errors.Is(err, relay.ErrNotAcquired) {
				return nil, errHopeless
			}
			return got, err
		})))

	const notReentrant = "a Locker does not enter its own lock again"
	breaks(notReentrant, "its holder may take it again", both(reentrant))
	breaks(notReentrant, "locks stack", both(stacking))

	breaks("a released name is free at once", "Release does nothing", both(releasing(
		func(context.Context, relay.Lock, int) error {
			return nil
		})))
	breaks("different names do not contend", "one lock for all names", both(taking(func(string) string { return "the only one" })))

	const bytewise = "names are compared byte by byte"
	breaks(bytewise, "names in lower case", both(taking(strings.ToLower)))
	breaks(bytewise, "names without the space around them", both(taking(func(name string) string { return "_" + strings.TrimSpace(name) })))
	breaks(bytewise, "a lock that tells another name", both(granting(
		func(_ context.Context, good relay.Lock) relay.Lock {
			return lock{Lock: good, name: strings.ToLower(good.Name()), release: good.Release}
		})))

	const checked = "names that not every adapter can take are refused"
	breaks(checked, "names that are mended", both(taking(mend)))
	breaks(checked, "names that TryAcquire alone checks", both(acquiring(
		func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			return good.Acquire(ctx, mend(name))
		})))

	breaks("Acquire waits for the release", "Acquire that does not wait", both(acquiring(
		func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			return good.TryAcquire(ctx, name)
		})))
	breaks("Acquire waits for the release", "Acquire that is never woken", both(acquiring(
		func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			got, err := good.TryAcquire(ctx, name)
			if errors.Is(err, relay.ErrNotAcquired) {
				<-ctx.Done()
				return nil, errors.Join(relay.ErrNotAcquired, ctx.Err())
			}
			return got, err
		})))

	const bothErrors = "Acquire whose context ends says both that and not acquired"
	acquireErr := func(change func(ctx context.Context) error) breakIt {
		return both(acquiring(func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			got, err := good.Acquire(ctx, name)
			if errors.Is(err, relay.ErrNotAcquired) {
				return nil, change(ctx)
			}
			return got, err
		}))
	}
	breaks(bothErrors, "Acquire that hides its context's error", acquireErr(func(context.Context) error { return relay.ErrNotAcquired }))
	breaks(bothErrors, "Acquire that returns its context's error only", acquireErr(context.Context.Err))

	breaks(bothErrors, "Acquire that goes on waiting", func(t testing.TB, s *relaytest.LockerSubject, p *process) {
		both(acquiring(func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			if err := ctx.Err(); err != nil {
				return nil, errors.Join(relay.ErrNotAcquired, err)
			}
			return good.Acquire(t.Context(), name)
		}))(t, s, p)
	})

	breaks("Acquire that gave up holds nothing", "a grant that nobody waits for any more", orphaning)
	breaks("a lock handed over while the wait is cancelled is not orphaned", "a grant forgotten at the last moment", both(acquiring(orphaningLate)))

	const refusesEnded = "a context that has ended takes nothing"
	breaks(refusesEnded, "TryAcquire that ignores its context", both(trying(
		func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			return good.TryAcquire(context.WithoutCancel(ctx), name)
		})))
	breaks(refusesEnded, "TryAcquire that takes the lock and reports its context", both(trying(
		func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			got, err := good.TryAcquire(context.WithoutCancel(ctx), name)
			return got, errors.Join(err, ctx.Err())
		})))
	breaks(refusesEnded, "Acquire that looks at its context only when it has to wait", both(acquiring(
		func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			if got, err := good.TryAcquire(context.WithoutCancel(ctx), name); err == nil {
				return got, nil
			}
			return good.Acquire(ctx, name)
		})))

	const outlivesWait = "the context of the wait does not bound the hold"
	breaks(outlivesWait, "a lock released with the context of the wait", both(granting(
		func(ctx context.Context, good relay.Lock) relay.Lock {
			context.AfterFunc(ctx, func() { _ = good.Release(context.WithoutCancel(ctx)) })
			return good
		})))
	breaks(outlivesWait, "a lock lost with the context of the wait", both(granting(
		func(ctx context.Context, good relay.Lock) relay.Lock {
			return lock{Lock: good, lost: ctx.Done()}
		})))

	breaks("Release runs although its context has ended", "Release that obeys its context", both(releasing(
		func(ctx context.Context, good relay.Lock, _ int) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return good.Release(ctx)
		})))
	breaks("Release runs although its context has ended", "Release that is silent and does nothing once its context has ended", both(releasing(
		func(ctx context.Context, good relay.Lock, _ int) error {
			if ctx.Err() != nil {
				return nil
			}
			return good.Release(ctx)
		})))

	const idempotent = "a second Release does nothing and answers the same"
	breaks(idempotent, "Release by name", func(t testing.TB, s *relaytest.LockerSubject, p *process) {
		both(releasingWhoeverHolds())(t, s, p)
	})
	breaks(idempotent, "Release by name within a process", func(t testing.TB, s *relaytest.LockerSubject, p *process) {
		s.A = releasingWhoeverHolds()(s.A)
	})
	breaks(idempotent, "a second Release that complains", both(releasing(
		func(ctx context.Context, good relay.Lock, n int) error {
			if n > 1 {
				return relay.ErrNotHeld
			}
			return good.Release(ctx)
		})))

	breaks("Release is no loss", "Lost that closes with Release", both(granting(
		func(_ context.Context, good relay.Lock) relay.Lock {
			lost := make(chan struct{})
			return lock{Lock: good, lost: lost, release: func(ctx context.Context) error {
				select {
				case <-lost:
				default:
					close(lost)
				}
				return good.Release(ctx)
			}}
		})))
	breaks("WithLock holds the lock while the function runs, and no longer", "Acquire that holds nothing", both(acquiring(
		func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			got, err := good.Acquire(ctx, name)
			if err != nil {
				return nil, err
			}
			return neverTaken(name), got.Release(ctx)
		})))

	const contended = "of many that contend, one is inside at a time and each gets its turn"
	breaks(contended, "a third one is let in", func(t testing.TB, s *relaytest.LockerSubject, p *process) {
		both(crowding(func(_ context.Context, name string) (relay.Lock, error) { return neverTaken(name), nil }))(t, s, p)
	})
	breaks(contended, "a third one is never woken", func(t testing.TB, s *relaytest.LockerSubject, p *process) {
		both(crowding(func(ctx context.Context, _ string) (relay.Lock, error) {
			<-ctx.Done()
			return nil, errors.Join(relay.ErrNotAcquired, ctx.Err())
		}))(t, s, p)
	})

	const tellsLoss = "a lock that is lost says so"
	breaks(tellsLoss, "a loss that nobody is told of", both(granting(
		func(_ context.Context, good relay.Lock) relay.Lock {
			return lock{Lock: good, lost: make(chan struct{})}
		})))
	breaks(tellsLoss, "Release that hides the loss", both(releasing(
		func(ctx context.Context, good relay.Lock, _ int) error {
			if err := good.Release(ctx); !errors.Is(err, relay.ErrLost) {
				return err
			}
			return nil
		})))
	breaks(tellsLoss, "a second Release that hides the loss", both(releasing(
		func(ctx context.Context, good relay.Lock, n int) error {
			if n > 1 {
				return nil
			}
			return good.Release(ctx)
		})))

	const freesLost = "a lock that is lost can be taken again"
	breaks(freesLost, "a lost lock that stays held", func(_ testing.TB, s *relaytest.LockerSubject, a *process) {
		lose := s.Lose
		s.Lose = func(l relay.Lock) {
			lose(l)
			_, _ = a.backend.TryAcquire(context.Background(), l.Name())
		}
	})
	breaks(freesLost, "Release of a lost lock that frees the next one", func(t testing.TB, s *relaytest.LockerSubject, p *process) {
		both(releasingWhoeverHolds())(t, s, p)
	})
	breaks("a loss after the release changes nothing", "a loss that all the locks are told of", sharingLosses)

	const closes = "Close frees what is held and tells its holders"
	breaks(closes, "Close that keeps the locks", func(_ testing.TB, s *relaytest.LockerSubject, a *process) {
		s.Close = func(context.Context) error { a.close(relay.ErrClosed); return nil }
	})
	breaks(closes, "Close that is a loss like any other", both(releasing(
		func(ctx context.Context, good relay.Lock, _ int) error {
			if err := good.Release(ctx); !errors.Is(err, relay.ErrClosed) {
				return err
			}
			return relay.ErrLost
		})))
	breaks("Close ends a wait with ErrClosed", "a wait that outlasts Close", both(acquiring(
		func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
			got, err := good.Acquire(ctx, name)
			if errors.Is(err, relay.ErrClosed) {
				<-ctx.Done()
				return nil, errors.Join(relay.ErrNotAcquired, ctx.Err())
			}
			return got, err
		})))

	const staysClosed = "after Close every call is ErrClosed"
	breaks(staysClosed, "Close that only frees the locks", func(_ testing.TB, s *relaytest.LockerSubject, a *process) {
		s.Close = func(context.Context) error {
			for _, name := range a.names() {
				a.lose(name, relay.ErrClosed)
			}
			return nil
		}
	})
	breaks(staysClosed, "a second Close that complains", func(_ testing.TB, s *relaytest.LockerSubject, a *process) {
		s.Close = func(ctx context.Context) error {
			defer a.Close(ctx)
			return context.Cause(a.open)
		}
	})
	breaks(staysClosed, "Close that closes the other process too", func(_ testing.TB, s *relaytest.LockerSubject, a *process) {
		b := s.B.(*process)
		s.Close = func(ctx context.Context) error { return errors.Join(a.Close(ctx), b.Close(ctx)) }
	})

	requireRejected(t, relaytest.CheckLocker, hopelessLocker, adapters)
}

// mend makes a name that every adapter takes out of one that none does.
func mend(name string) string {
	if relay.ValidateName(name) != nil {
		return "mended"
	}
	return name
}
