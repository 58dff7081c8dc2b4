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

// Instance is one copy of the service: an elector, and its link to the store
// that all the copies share.
type Instance struct {
	*relay.LeaseElector
	link *link
}

// link can be cut, as by a network fault or by a pause of the whole process:
// whatever the instance asks then is not answered.
type link struct {
	relay.LeaseStore
	cut   atomic.Bool
	lose  atomic.Int32 // so many requests are lost, then it works again
	delay atomic.Int64 // of each reply
}

func (l *link) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	if l.cut.Load() || l.lose.Add(-1) >= 0 {
		<-ctx.Done()
		return relay.Lease{}, ctx.Err()
	}
	lease, err := l.LeaseStore.TryAcquireOrRenew(ctx, role, owner, ttl)
	time.Sleep(time.Duration(l.delay.Load()))
	return lease, err
}

// newInstance returns an instance with the default times: a TTL of 30 s,
// renewed every 10 s, trusted until 3 s before it lapses, retried every 5 s.
func newInstance(t *testing.T, name string, shared relay.LeaseStore, tune ...func(*relay.LeaseElectorConfig)) *Instance {
	t.Helper()
	l := &link{LeaseStore: shared}
	cfg := relay.LeaseElectorConfig{Owner: name}
	for _, f := range tune {
		f(&cfg)
	}
	elector, err := relay.NewLeaseElector(l, cfg)
	require.NoError(t, err)
	return &Instance{elector, l}
}

// start runs an instance in the background until the test ends.
func start(t *testing.T, i *Instance, lead func(ctx context.Context, term relay.Term) error) {
	ended := make(chan error, 1)
	go func() { ended <- i.Run(t.Context(), role, lead) }()
	t.Cleanup(func() { <-ended })
}

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

func TestElection_TwoLostRenewalsInARowAreSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newInstance(t, "node-a", memory.NewLeaseStore(nil))
		require.NoError(t, a.Run(t.Context(), role, func(ctx context.Context, term relay.Term) error {
			time.Sleep(10 * time.Second) // one renewal has been answered
			a.link.lose.Store(2)
			time.Sleep(10 * time.Minute)
			require.True(t, term.Valid(), "of three chances to renew, one is enough")
			return ctx.Err()
		}))
	})
}

func TestElection_TermIsOverWhenTrustHasRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := memory.NewLeaseStore(nil)
		a := newInstance(t, "node-a", shared)
		running, stop := context.WithTimeout(t.Context(), time.Hour)
		err := a.Run(running, role, func(ctx context.Context, term relay.Term) error {
			defer stop()
			granted := time.Now()
			a.link.cut.Store(true) // no renewal is answered any more

			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), relay.ErrLost)
			require.Equal(t, 27*time.Second, time.Since(granted), "trusted until TTL − margin: 30 s − 3 s")
			require.False(t, term.Valid())

			lease, err := shared.Current(t.Context(), role)
			require.NoError(t, err, "the leader's context ends before its lease does")
			require.Equal(t, 3*time.Second, time.Until(lease.ExpiresAt))
			return nil
		})
		require.ErrorIs(t, err, context.Canceled, "Run returns why it was stopped")
	})
}

func TestElection_SlowReplyDoesNotLengthenTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newInstance(t, "node-a", memory.NewLeaseStore(nil))
		a.link.delay.Store(int64(4 * time.Second)) // on the reply's way back
		running, stop := context.WithTimeout(t.Context(), time.Hour)
		sent := time.Now()
		err := a.Run(running, role, func(ctx context.Context, _ relay.Term) error {
			defer stop()
			a.link.cut.Store(true)
			<-ctx.Done()
			require.Equal(t, 27*time.Second, time.Since(sent), "trust counts from before the request was sent, not from its reply")
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestElection_StalledLeaderIsTakenOverAndItsLateWriteIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, storage := memory.NewLeaseStore(nil), &Storage{}
		a, b := newInstance(t, "node-a", shared), newInstance(t, "node-b", shared)
		late := make(chan error, 1)

		start(t, a, func(_ context.Context, term relay.Term) error {
			assert.NoError(t, storage.Write(term.Token(), "a's update"))
			a.link.cut.Store(true) // node-a freezes: no renewal, no glance at its context
			time.Sleep(time.Minute)
			err := storage.Write(term.Token(), "a's stale update")
			late <- err
			return err
		})
		synctest.Wait()
		start(t, b, func(ctx context.Context, term relay.Term) error {
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
