package relay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

// What electors make of stores, locks and observers that do what they should
// not, or do it at the worst moment.

func TestHostile_AGrantThatIsNotOursIsNotLed(t *testing.T) {
	for name, change := range map[string]func(*relay.Lease){
		"no lease at all":  func(l *relay.Lease) { *l = relay.Lease{} },
		"another role":     func(l *relay.Lease) { l.Role = "other" },
		"another owner":    func(l *relay.Lease) { l.Owner = "other" },
		"no token":         func(l *relay.Lease) { l.Token = 0 },
		"an invalid token": func(l *relay.Lease) { l.Token = -7 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spy, log := newSpyStore(), &eventLog{}
				spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
					lease, err := ask()
					if n == 1 {
						change(&lease)
					}
					return lease, err
				}
				err := newLeaseElector(t, spy, relay.LeaseElectorConfig{Observer: log.observe}).Run(aDay(t), "reports", func(_ context.Context, term relay.Term) error {
					require.Equal(t, relay.Token(1), term.Token())
					return nil
				})
				require.NoError(t, err)
				require.Len(t, log.of(relay.EventElected), 1)
				require.ErrorContains(t, log.of(relay.EventFailed)[0].Err, "the store granted role")
			})
		})
	}
}

func TestHostile_ALockerThatGrantsNothingIsAnError(t *testing.T) {
	work := func(context.Context) error { return nil }
	require.ErrorContains(t, newLockElector(t, emptyLocker{}, relay.LockElectorConfig{}).Run(t.Context(), "reports", work), "without a lock")
	require.ErrorContains(t, relay.WithLock(t.Context(), emptyLocker{}, "export", work), "without a lock")
}

type emptyLocker struct{}

func (emptyLocker) TryAcquire(context.Context, string) (relay.Lock, error) { return nil, nil }
func (emptyLocker) Acquire(context.Context, string) (relay.Lock, error)    { return nil, nil }

func TestHostile_AHintThatIsAlwaysWrongMakesNoBusyLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		_, err := spy.LeaseStore.TryAcquireOrRenew(t.Context(), "reports", "other", time.Hour)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = newLeaseElector(t, eagerHint{spy}, relay.LeaseElectorConfig{Jitter: longest}).Run(ctx, "reports", untilDone)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, len(spy.made("request")), 26, "of two hints that come at once one is believed, the other waits out the pause")
	})
}

type eagerHint struct{ *spyStore }

func (eagerHint) WaitReleased(context.Context, string) error { return nil }

func TestHostile_WhatIsLostAtOnceMakesNoBusyLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		locker := &lostLocker{}
		err := newLockElector(t, locker, relay.LockElectorConfig{}).Run(ctx, "reports", func(context.Context) error {
			t.Error("the work ran under a lock that was known to be lost")
			return nil
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, locker.grants.Load(), int32(13), "after a term shorter than P it waits out what is left of P")
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		spy := newSpyStore()
		err := newLeaseElector(t, spy, relay.LeaseElectorConfig{StallAfter: time.Nanosecond}).Run(ctx, "reports", untilDone)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, len(spy.made("request")), 13)
	})
}

type lostLocker struct{ grants atomic.Int32 }

func (l *lostLocker) TryAcquire(ctx context.Context, name string) (relay.Lock, error) {
	return l.Acquire(ctx, name)
}

func (l *lostLocker) Acquire(_ context.Context, name string) (relay.Lock, error) {
	if l.grants.Add(1) > 1_000 {
		panic("the elector asks the locker in a busy loop")
	}
	lost := make(chan struct{})
	close(lost)
	return &scriptedLock{name: name, lost: lost}, nil
}

func TestHostile_APanicOfAnObserverLeavesNoLease(t *testing.T) {
	for name, c := range map[string]struct {
		kind relay.EventKind
		lose func(n int) bool
	}{
		"when elected":                  {relay.EventElected, func(int) bool { return false }},
		"after an answer that was lost": {relay.EventFailed, func(int) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spy := newSpyStore()
				spy.request = loseReplies(c.lose)
				e := newLeaseElector(t, spy, relay.LeaseElectorConfig{Observer: func(e relay.Event) {
					if e.Kind == c.kind {
						panic("observer")
					}
				}})
				require.PanicsWithValue(t, "observer", func() { _ = e.Run(t.Context(), "reports", untilDone) })
				_, err := spy.LeaseStore.Current(t.Context(), "reports")
				require.ErrorIs(t, err, relay.ErrNotHeld, "a panic passes through after the clean-up, whoever's it is")
			})
		})
	}
}

func TestHostile_ASlowObserverOfTheElectionDoesNotCostTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newLeaseElector(t, memory.NewLeaseStore(nil), relay.LeaseElectorConfig{Observer: func(e relay.Event) {
			if e.Kind == relay.EventElected {
				time.Sleep(time.Minute)
			}
		}})
		require.NoError(t, e.Run(t.Context(), "reports", func(_ context.Context, term relay.Term) error {
			require.True(t, term.Valid(), "the lease is renewed from the beginning")
			return nil
		}))
	})
}

func TestHostile_NothingIsToldAfterRunHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		spy.request = failFrom(2)
		var returned, after atomic.Bool
		e := newLeaseElector(t, spy, relay.LeaseElectorConfig{Observer: func(e relay.Event) {
			if e.Kind == relay.EventLost { // told on the goroutine of a timer
				time.Sleep(time.Second)
				after.Store(returned.Load())
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		_ = e.Run(ctx, "reports", func(led context.Context, _ relay.Term) error {
			<-led.Done()
			cancel()
			return nil
		})
		returned.Store(true)
		time.Sleep(time.Minute)
		require.False(t, after.Load(), "Run joins whoever still tells of the loss")
	})
}

func TestHostile_ALossThatComesWithTheEndOfTheWorkIsToldAllTheSame(t *testing.T) {
	for range 100 { // the two race
		synctest.Test(t, func(t *testing.T) {
			locker, log := &scriptedLocker{}, &eventLog{}
			terms := 0
			err := newLockElector(t, locker, relay.LockElectorConfig{Observer: log.observe}).Run(t.Context(), "reports", func(context.Context) error {
				if terms++; terms == 1 {
					locker.lose(0)
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 2, terms)
			require.Len(t, log.of(relay.EventLost), 1, "whoever reads the events learns why it was elected twice")
		})
	}
}

func TestHostile_ACandidateThatIsStoppedLeavesNoRequestBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lateStore{memory.NewLeaseStore(nil)}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := newLeaseElector(t, store, relay.LeaseElectorConfig{}).Run(ctx, "reports", untilDone)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Second)
		_, err = store.Current(t.Context(), "reports")
		require.ErrorIs(t, err, relay.ErrNotHeld, "a request that was given up would be granted after all, to nobody, for a TTL")
	})
}

// lateStore runs a request a while after it was sent, also when its sender has
// gone.
type lateStore struct{ *memory.LeaseStore }

func (s lateStore) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	type answer struct {
		lease relay.Lease
		err   error
	}
	answers := make(chan answer, 1)
	time.AfterFunc(200*time.Millisecond, func() {
		lease, err := s.LeaseStore.TryAcquireOrRenew(context.Background(), role, owner, ttl)
		answers <- answer{lease, err}
	})
	select {
	case a := <-answers:
		return a.lease, a.err
	case <-ctx.Done():
		return relay.Lease{}, ctx.Err()
	}
}

func TestHostile_ATokenThatWasRaisedWhileTheAnswerWasLostIsNotLed(t *testing.T) {
	for _, used := range []relay.Token{1, 40} { // the grant's own token too
		synctest.Test(t, func(t *testing.T) {
			spy := newSpyStore()
			spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
				lease, err := ask()
				if n == 1 { // granted, but the answer is lost; then somebody tells of tokens that were used
					require.NoError(t, spy.AdvanceToken(context.Background(), "reports", used))
					return relay.Lease{}, errNoAnswer
				}
				return lease, err
			}
			err := newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(aDay(t), "reports", func(_ context.Context, term relay.Term) error {
				require.Greater(t, term.Token(), used, "a resource may have seen it: two leaders with one token can't be told apart")
				return nil
			})
			require.NoError(t, err)
		})
	}
}

func TestHostile_OneFailedRenewalIsNotFatalHoweverLongTheRetryInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
			if n == 3 {
				return relay.Lease{}, errStoreDown
			}
			return ask()
		}
		e := newLeaseElector(t, spy, relay.LeaseElectorConfig{RetryInterval: time.Hour})
		require.NoError(t, e.Run(t.Context(), "reports", func(_ context.Context, term relay.Term) error {
			time.Sleep(10 * time.Minute)
			require.True(t, term.Valid(), "the renewal that is due next comes as it would have")
			return nil
		}))
	})
}

func TestHostile_ACleanStopIsNoFailure(t *testing.T) {
	stop := errors.New("shutting down")
	for _, echo := range []func(context.Context) error{context.Context.Err, context.Cause} {
		synctest.Test(t, func(t *testing.T) {
			log := &eventLog{}
			ctx, cancel := context.WithCancelCause(t.Context())
			e := newLeaseElector(t, memory.NewLeaseStore(nil), relay.LeaseElectorConfig{Observer: log.observe})
			err := e.Run(ctx, "reports", func(led context.Context, _ relay.Term) error {
				cancel(stop)
				<-led.Done()
				return echo(led)
			})
			require.Equal(t, stop, err)
			require.Empty(t, log.of(relay.EventFailed), "work that returns why it was stopped has not failed")
		})
	}
}
