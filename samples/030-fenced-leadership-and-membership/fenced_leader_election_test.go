package leadership_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

func TestElection_WorkRunsWithTheTokenOfItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newInstance(t, "node-a", memory.NewLeaseStore(nil))
		var tokens []relay.Token
		for range 3 {
			require.NoError(t, a.Run(t.Context(), role, func(_ context.Context, term relay.Term) error {
				tokens = append(tokens, term.Token())
				return nil
			}))
		}
		require.Equal(t, []relay.Token{1, 2, 3}, tokens, "each term is handed a higher token than the one before")
	})
}

func TestElection_SecondInstanceDoesNotRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := memory.NewLeaseStore(nil)
		var running, terms atomic.Int32
		work := func(context.Context, relay.Term) error {
			assert.EqualValues(t, 1, running.Add(1), "one instance leads at a time")
			defer running.Add(-1)
			terms.Add(1)
			time.Sleep(5 * time.Minute)
			return nil
		}
		start(t, newInstance(t, "node-a", shared), work)
		start(t, newInstance(t, "node-b", shared), work)

		time.Sleep(4 * time.Minute)
		require.EqualValues(t, 1, terms.Load(), "the second one stands by while the first renews")
		time.Sleep(time.Minute + 5*time.Second)
		require.EqualValues(t, 2, terms.Load(), "and leads within a retry interval once the first has finished and released")
	})
}

func TestElection_StalledLeaderIsTakenOverAndItsLateWriteIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, storage, happened := memory.NewLeaseStore(nil), &Storage{}, newTimeline(t)
		a := newInstance(t, "node-a", shared, observed(func(e relay.Event) {
			if e.Kind == relay.EventLost {
				happened("node-a's own clock ends its term")
			}
		}))
		b := newInstance(t, "node-b", shared, longestWaits)
		late := make(chan error, 1)

		start(t, a, func(_ context.Context, term relay.Term) error {
			happened("node-a leads with token %d, writes, and freezes", term.Token())
			assert.NoError(t, storage.Write(term.Token(), "a's update"))
			a.link.cut.Store(true) // no renewal, no glance at its context
			time.Sleep(time.Minute)
			err := storage.Write(term.Token(), "a's stale update")
			happened("node-a wakes up and writes: %v", err)
			late <- err
			return err
		})
		synctest.Wait()
		start(t, b, func(ctx context.Context, term relay.Term) error {
			happened("node-b leads with token %d, and writes", term.Token())
			assert.EqualValues(t, 2, term.Token(), "takeover raises the token")
			assert.NoError(t, storage.Write(term.Token(), "b's update"))
			<-ctx.Done()
			return nil
		})

		time.Sleep(35 * time.Second)
		require.Equal(t, "b's update", storage.Value(), "another instance leads within TTL + retry interval, though node-a lives")
		require.ErrorIs(t, <-late, relay.ErrStaleToken, "the woken leader's write is refused")
		require.Equal(t, "b's update", storage.Value())
	})
}

func TestElection_AskingBeforeTheWriteDoesNotHelpTheFenceDoes(t *testing.T) {
	// History one: the leader asks whether it still leads, and then writes.
	require.Equal(t, "a's stale update", afterPause(t, func(term relay.Term, pause func(), storage *Storage) {
		valid := term.Valid()
		pause() // between the question and the write
		if valid {
			storage.WriteUnfenced("a's stale update")
		}
	}), "a check before the write leaves a moment in between")

	// History two, its twin: the storage asks, in the step that writes.
	require.Equal(t, "b's update", afterPause(t, func(term relay.Term, pause func(), storage *Storage) {
		valid := term.Valid()
		pause()
		if valid {
			_ = storage.Write(term.Token(), "a's stale update")
		}
	}), "a check within the write leaves none")
}

// afterPause lets write pause until another instance has led and written, and
// returns what the storage holds in the end.
func afterPause(t *testing.T, write func(term relay.Term, pause func(), storage *Storage)) (value string) {
	synctest.Test(t, func(t *testing.T) {
		shared, storage := memory.NewLeaseStore(nil), &Storage{}
		a, b := newInstance(t, "node-a", shared), newInstance(t, "node-b", shared)
		start(t, a, func(_ context.Context, term relay.Term) error {
			write(term, func() { a.link.cut.Store(true); time.Sleep(time.Minute) }, storage)
			return nil
		})
		synctest.Wait()
		start(t, b, func(ctx context.Context, term relay.Term) error {
			assert.NoError(t, storage.Write(term.Token(), "b's update"))
			<-ctx.Done()
			return nil
		})
		time.Sleep(2 * time.Minute)
		value = storage.Value()
	})
	return value
}

func TestElection_StuckWorkLosesTheLeaseWhenItMustShowProgress(t *testing.T) {
	leaders := func(t *testing.T, stallAfter time.Duration) (terms int32) {
		synctest.Test(t, func(t *testing.T) {
			shared := memory.NewLeaseStore(nil)
			stall := func(cfg *relay.LeaseElectorConfig) { cfg.StallAfter = stallAfter }
			var count atomic.Int32
			unstick := make(chan struct{})
			work := func(ctx context.Context, term relay.Term) error {
				if count.Add(1) == 1 {
					<-unstick // its process lives, and renews; the work hangs on a socket
					return nil
				}
				for ctx.Err() == nil {
					term.Progress() // after every piece of work
					time.Sleep(time.Second)
				}
				return nil
			}
			start(t, newInstance(t, "node-a", shared, stall), work)
			synctest.Wait()
			start(t, newInstance(t, "node-b", shared, stall), work)
			time.Sleep(10 * time.Minute)
			terms = count.Load()
			close(unstick)
		})
		return terms
	}
	require.EqualValues(t, 2, leaders(t, time.Minute), "with StallAfter the lease lapses under work that is stuck, and another instance leads")
	require.EqualValues(t, 1, leaders(t, 0), "without it a lease proves only that the renewer lives")
}

func TestElection_ShortJobRunsOnEveryInstanceInTurnUnlessTheLeaseIsHeld(t *testing.T) {
	runs := func(t *testing.T, holdAtLeast time.Duration) (runs int32) {
		synctest.Test(t, func(t *testing.T) {
			shared := memory.NewLeaseStore(nil)
			hold := func(cfg *relay.LeaseElectorConfig) { cfg.HoldAtLeast = holdAtLeast }
			var count atomic.Int32
			job := func(context.Context, relay.Term) error {
				count.Add(1)
				return nil // Run gives the lease up, and the next instance is elected
			}
			for _, name := range []string{"node-a", "node-b", "node-c"} {
				start(t, newInstance(t, name, shared, hold), job)
			}
			time.Sleep(30 * time.Minute)
			runs = count.Load()
		})
		return runs
	}
	require.EqualValues(t, 3, runs(t, 0), "leadership is one at a time, not once: a job that returns runs on each instance")
	require.EqualValues(t, 1, runs(t, time.Hour), "HoldAtLeast keeps the lease until all have had their chance")
}

func TestElection_WorkIsWoundDownBeforeTheNextInstanceLeads(t *testing.T) {
	handedOver := func(t *testing.T, windDown func(ctx context.Context)) (after time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			shared := memory.NewLeaseStore(nil)
			a, b := newInstance(t, "node-a", shared), newInstance(t, "node-b", shared)
			running, stop := context.WithCancel(t.Context())
			var stopped time.Time
			aEnded := make(chan error, 1)
			go func() {
				aEnded <- a.Run(running, role, func(ctx context.Context, _ relay.Term) error {
					windDown(ctx)
					return nil
				})
			}()
			synctest.Wait()
			time.AfterFunc(time.Minute, func() {
				stopped = time.Now()
				stop() // a deployment stops node-a
			})
			require.NoError(t, b.Run(t.Context(), role, func(context.Context, relay.Term) error {
				after = time.Since(stopped)
				return nil
			}))
			require.ErrorIs(t, <-aEnded, context.Canceled)
		})
		return after
	}
	const retry = 5 * time.Second

	heeds := handedOver(t, func(ctx context.Context) { <-ctx.Done() })
	require.LessOrEqual(t, heeds, retry, "the lease of work that heeds its context is released: nobody waits for it to lapse")

	ignores := handedOver(t, func(context.Context) { time.Sleep(10 * time.Minute) }) // one minute of it before the stop
	require.GreaterOrEqual(t, ignores, 9*time.Minute, "work that ignores it keeps the lease: it is never released under the work")
	require.LessOrEqual(t, ignores, 9*time.Minute+retry)
}

func TestElection_RestartedProcessWaitsOutItsOwnOldLease(t *testing.T) {
	leadsAgainAfter := func(t *testing.T, killed bool) (after time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			shared := memory.NewLeaseStore(nil)
			old, began := newInstance(t, "node-a", shared), time.Now()
			running, stop := context.WithCancel(t.Context())
			_ = old.Run(running, role, func(context.Context, relay.Term) error {
				old.link.cut.Store(killed) // then nothing that it sends arrives, its release neither
				stop()
				return nil
			})

			restarted := newInstance(t, "node-a", shared)
			require.NoError(t, restarted.Run(t.Context(), role, func(_ context.Context, term relay.Term) error {
				after = time.Since(began)
				require.EqualValues(t, 2, term.Token(), "a new term in any case")
				return nil
			}))
		})
		return after
	}
	killed := leadsAgainAfter(t, true)
	require.GreaterOrEqual(t, killed, ttl, "the same name is another owner: nobody can tell that the old process is gone")
	require.LessOrEqual(t, killed, ttl+5*time.Second, "TTL + retry interval, as for any other instance")

	require.Zero(t, leadsAgainAfter(t, false), "a process that was stopped has released its lease")
}

func TestElection_TwoStoresElectTwoLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var leading atomic.Int32
		work := func(ctx context.Context, _ relay.Term) error {
			leading.Add(1)
			<-ctx.Done()
			return nil
		}
		start(t, newInstance(t, "node-a", memory.NewLeaseStore(nil)), work)
		start(t, newInstance(t, "node-b", memory.NewLeaseStore(nil)), work)
		synctest.Wait()
		require.EqualValues(t, 2, leading.Load(), "in-memory leases of two processes know nothing of each other: share a store")
	})
}
