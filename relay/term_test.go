package relay_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

var errStoreDown = errors.New("store down")

// failFrom lets the requests before the n-th through and fails the others.
func failFrom(first int) func(int, func() (relay.Lease, error)) (relay.Lease, error) {
	return func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
		if n >= first {
			return relay.Lease{}, errStoreDown
		}
		return ask()
	}
}

func TestTerm_TheZeroTermIsNotValid(t *testing.T) {
	var term relay.Term
	require.False(t, term.Valid())
	require.Equal(t, relay.Token(0), term.Token())
	require.NotPanics(t, term.Progress)
}

func TestTerm_IsOverWhenTrustHasRunOut(t *testing.T) {
	for _, stallAfter := range []time.Duration{0, time.Hour} { // progress is no replacement for renewals
		synctest.Test(t, func(t *testing.T) { trustRunsOut(t, stallAfter) })
	}
}

func trustRunsOut(t *testing.T, stallAfter time.Duration) {
	spy, log := newSpyStore(), &eventLog{}
	spy.request = failFrom(2)
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	granted := time.Now()
	e := newLeaseElector(t, spy, relay.LeaseElectorConfig{Observer: log.observe, StallAfter: stallAfter})
	err := e.Run(ctx, "reports", func(led context.Context, term relay.Term) error {
		defer cancel()
		<-led.Done()
		require.Equal(t, 27*time.Second, time.Since(granted), "trustedUntil = attemptStart + TTL − margin")
		require.ErrorIs(t, context.Cause(led), relay.ErrLost)
		require.False(t, term.Valid())
		lease, err := spy.LeaseStore.Current(context.Background(), "reports")
		require.NoError(t, err, "the leader's context ends before its lease does")
		require.Equal(t, term.Token(), lease.Token)
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, log.of(relay.EventLost), 1)
	require.Equal(t, relay.Token(1), log.of(relay.EventLost)[0].Token)
}

func TestTerm_ValidDoesNotWaitForTheTimer(t *testing.T) {
	// At the moment of the deadline the timer and the work wake up together, in
	// any order, as they do after a freeze. Whichever is first, Valid is right.
	for i := range 50 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spy := newSpyStore()
				spy.request = failFrom(2)
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				_ = newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(ctx, "reports", func(led context.Context, term relay.Term) error {
					defer cancel()
					time.Sleep(27*time.Second - time.Nanosecond)
					require.True(t, term.Valid())
					time.Sleep(time.Nanosecond)
					require.False(t, term.Valid(), "a term of 30 s with a margin of 3 s is over at 27 s")
					require.Error(t, led.Err(), "and Valid itself has ended its context")
					return nil
				})
			})
		})
	}
}

func TestTerm_ASlowReplyDoesNotLengthenIt(t *testing.T) {
	for _, answered := range []int{1, 2} { // the grant alone, or the grant and a renewal
		t.Run(fmt.Sprint(answered), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spy := newSpyStore()
				spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
					if n > answered {
						return relay.Lease{}, errStoreDown
					}
					lease, err := ask()
					time.Sleep(4 * time.Second) // the reply's way back
					return lease, err
				}
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				_ = newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(ctx, "reports", func(led context.Context, term relay.Term) error {
					defer cancel()
					<-led.Done()
					sent := spy.made("request")[answered-1].at // of the last one that was answered
					require.Equal(t, 27*time.Second, time.Since(sent), "trust runs from before the request was sent, not from its reply")
					return nil
				})
			})
		})
	}
}

func TestTerm_ALateReplyDoesNotReviveIt(t *testing.T) {
	// The reply comes at the very end of the trust, when the timer may not have
	// fired yet, as after a freeze; or long after it.
	for _, late := range []time.Duration{0, time.Minute} {
		for i := range 30 {
			t.Run(fmt.Sprint(late, i), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					spy, log, began := newSpyStore(), &eventLog{}, time.Now()
					spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
						lease, err := ask()
						if n > 1 { // a store that ignores its deadline
							time.Sleep(time.Until(began.Add(27*time.Second + late)))
						}
						return lease, err
					}
					ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
					_ = newLeaseElector(t, spy, relay.LeaseElectorConfig{Observer: log.observe}).Run(ctx, "reports", func(led context.Context, term relay.Term) error {
						defer cancel()
						<-led.Done()
						require.Equal(t, 27*time.Second, time.Since(began))
						require.False(t, term.Valid())
						time.Sleep(2 * time.Minute)
						require.False(t, term.Valid(), "a term that is over stays over, whatever is answered later")
						require.Empty(t, log.of(relay.EventRenewed))
						return nil
					})
				})
			})
		}
	}
}

func TestTerm_AGrantThatComesTooLateIsNotLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy, log := newSpyStore(), &eventLog{}
		spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
			lease, err := ask()
			if n == 1 {
				time.Sleep(28 * time.Second)
			}
			return lease, err
		}
		err := newLeaseElector(t, spy, relay.LeaseElectorConfig{Observer: log.observe}).Run(aDay(t), "reports", func(led context.Context, term relay.Term) error {
			require.NoError(t, led.Err())
			require.True(t, term.Valid(), "work begins with a term that can be trusted")
			return nil
		})
		require.NoError(t, err)
		require.Len(t, log.of(relay.EventElected), 1)
	})
}

func TestTerm_TwoLostRenewalsInARowAreSurvived(t *testing.T) {
	lost := func(t *testing.T, failures int) (ended bool) {
		synctest.Test(t, func(t *testing.T) {
			spy := newSpyStore()
			spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
				if n > 2 && n <= 2+failures { // after the grant and one renewal
					time.Sleep(5 * time.Second) // times out
					return relay.Lease{}, context.DeadlineExceeded
				}
				return ask()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			_ = newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(ctx, "reports", func(led context.Context, term relay.Term) error {
				defer cancel()
				select {
				case <-led.Done():
					ended = true
				case <-time.After(10 * time.Minute):
					require.True(t, term.Valid())
				}
				return nil
			})
		})
		return ended
	}
	for failures := range 3 {
		require.False(t, lost(t, failures), "with a TTL of 30 s and renewals every 10 s, %d lost ones are survived", failures)
	}
	require.True(t, lost(t, 4), "but trust ends when too many are lost")
}

func TestTerm_AFailedRenewalIsTriedAgainOffTheGrid(t *testing.T) {
	for name, c := range map[string]struct{ took, gap time.Duration }{
		"refused at once: after the retry interval":    {0, 5 * time.Second},
		"refused late: after the rest of the interval": {3 * time.Second, 5 * time.Second},
		"timed out: at once":                           {6 * time.Second, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spy := newSpyStore()
				spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
					if n == 3 {
						time.Sleep(c.took)
						return relay.Lease{}, errStoreDown
					}
					return ask()
				}
				err := newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(t.Context(), "reports", func(_ context.Context, term relay.Term) error {
					time.Sleep(45 * time.Second)
					require.True(t, term.Valid())
					return nil
				})
				require.NoError(t, err)
				made := spy.made("request")
				require.Equal(t, 10*time.Second, made[2].at.Sub(made[1].at), "renewals come every RenewInterval")
				require.Equal(t, c.gap, made[3].at.Sub(made[2].at))
				require.Equal(t, 10*time.Second, made[4].at.Sub(made[2].at), "and go back to their grid")
			})
		})
	}
}

func TestTerm_ARenewalAnsweredWithAnotherTokenEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy, log := newSpyStore(), &eventLog{}
		var terms []relay.Token
		err := newLeaseElector(t, spy, relay.LeaseElectorConfig{Observer: log.observe}).Run(aDay(t), "reports", func(led context.Context, term relay.Term) error {
			terms = append(terms, term.Token())
			if len(terms) > 1 {
				return nil
			}
			require.NoError(t, spy.AdvanceToken(led, "reports", 40))
			<-led.Done()
			require.ErrorIs(t, context.Cause(led), relay.ErrLost)
			require.False(t, term.Valid())
			require.Equal(t, relay.Token(1), term.Token(), "nothing runs under a token that its term was not granted")
			return errors.New("stopped")
		})
		require.NoError(t, err, "after a loss Run campaigns again, whatever the work returned")
		require.Equal(t, []relay.Token{1, 42}, terms, "the raised lease was released, and the next grant is a new term")
		require.ErrorContains(t, log.of(relay.EventLost)[0].Err, "was answered with token 41")
	})
}

func TestTerm_ARenewalAnsweredWithSomebodyElsesLeaseEndsIt(t *testing.T) {
	for name, change := range map[string]func(*relay.Lease){
		"a lower token": func(l *relay.Lease) { l.Token-- },
		"another owner": func(l *relay.Lease) { l.Owner = "somebody else" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spy := newSpyStore()
				spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
					lease, err := ask()
					if n == 2 {
						change(&lease)
					}
					return lease, err
				}
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				_ = newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(ctx, "reports", func(led context.Context, term relay.Term) error {
					defer cancel()
					<-led.Done()
					require.ErrorIs(t, context.Cause(led), relay.ErrLost)
					require.Equal(t, spy.made("request")[1].at, time.Now(), "at the answer, not at the end of the trust")
					return nil
				})
			})
		})
	}
}

func TestTerm_ARefusedRenewalEndsItAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		thief := relay.Lease{Role: "reports", Owner: "thief", Token: 9, ExpiresAt: time.Now().Add(time.Hour)}
		spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
			if n == 2 {
				return relay.Lease{}, &relay.HeldError{Lease: thief}
			}
			return ask()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		_ = newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(ctx, "reports", func(led context.Context, term relay.Term) error {
			defer cancel()
			<-led.Done()
			require.Equal(t, spy.made("request")[1].at, time.Now())
			var held *relay.HeldError
			require.ErrorAs(t, context.Cause(led), &held, "the cause tells who has it now")
			require.ErrorIs(t, context.Cause(led), relay.ErrLost)
			return nil
		})
	})
}

func TestTerm_RolesOfOneProcessRenewAtOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		var done []<-chan error
		for i, owner := range []string{"node-a", "node-a", "node-a", "node-b"} {
			e := newLeaseElector(t, spy, relay.LeaseElectorConfig{Owner: owner})
			done = append(done, start(func() error { return e.Run(ctx, fmt.Sprint("role-", i), untilDone) }))
			time.Sleep(777 * time.Millisecond) // they don't begin together
		}
		time.Sleep(95 * time.Second)
		cancel()
		for _, d := range done {
			require.ErrorIs(t, <-d, context.Canceled)
		}

		moments := map[byte]map[time.Duration]int{'a': {}, 'b': {}}
		for _, c := range spy.made("request")[4:] {
			moments[c.owner[len("node-")]][time.Duration(c.at.UnixNano())%(10*time.Second)]++
		}
		require.Len(t, moments['a'], 1, "all the renewals of a process fall on one phase of the interval, to share a statement")
		require.Len(t, moments['b'], 1)
		for at := range moments['a'] {
			require.NotContains(t, moments['b'], at, "another process has another phase")
			require.GreaterOrEqual(t, moments['a'][at], 27)
		}
	})
}

func TestTerm_StuckWorkLosesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.NewLeaseStore(nil)
		cfg := relay.LeaseElectorConfig{StallAfter: 40 * time.Second, Jitter: longest}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		unstick, began := make(chan struct{}), time.Now()

		stuck := start(func() error {
			return newLeaseElector(t, store, cfg).Run(ctx, "reports", func(led context.Context, term relay.Term) error {
				lost := make(chan time.Time, 1)
				context.AfterFunc(led, func() { lost <- time.Now() })
				for range 4 { // gets on for a while
					time.Sleep(30 * time.Second)
					require.True(t, term.Valid())
					term.Progress()
				}
				select { // ignores its context
				case <-unstick:
				case <-ctx.Done(): // nobody took over
				}
				require.Equal(t, 160*time.Second, (<-lost).Sub(began), "the term ends StallAfter past the last progress")
				require.False(t, term.Valid())
				term.Progress()
				require.False(t, term.Valid(), "progress does not revive a term")
				cancel()
				return nil
			})
		})
		synctest.Wait()
		second := start(func() error {
			return newLeaseElector(t, store, cfg).Run(ctx, "reports", func(_ context.Context, term relay.Term) error {
				since := time.Since(began)
				require.Greater(t, since, 160*time.Second)
				require.LessOrEqual(t, since, 160*time.Second+35*time.Second, "another instance takes over within T + P")
				require.Equal(t, relay.Token(2), term.Token())
				close(unstick)
				<-ctx.Done()
				lease, err := store.Current(context.Background(), "reports")
				require.NoError(t, err)
				require.Equal(t, term.Token(), lease.Token, "the stuck one releases nothing that is not its own")
				return nil
			})
		})
		require.ErrorIs(t, <-stuck, context.Canceled)
		require.ErrorIs(t, <-second, context.Canceled)
	})
}

func TestTerm_WorkThatWindsDownMustGetOnToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		e := newLeaseElector(t, spy, relay.LeaseElectorConfig{StallAfter: time.Minute})
		err := e.Run(ctx, "reports", func(_ context.Context, term relay.Term) error {
			cancel()
			time.Sleep(time.Minute - time.Nanosecond)
			require.True(t, term.Valid())
			time.Sleep(time.Nanosecond)
			require.False(t, term.Valid(), "winding down counts: a callback that is stuck on its way out must not hold the role for ever")
			renewals := len(spy.made("request"))
			time.Sleep(time.Hour)
			require.Len(t, spy.made("request"), renewals, "renewals stop, so that the lease lapses under the stuck work")
			require.Empty(t, spy.made("release"), "it is not released under it")
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestTerm_ManyGoroutinesMayAskOneTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newLeaseElector(t, memory.NewLeaseStore(nil), relay.LeaseElectorConfig{StallAfter: time.Minute})
		err := e.Run(t.Context(), "reports", func(_ context.Context, term relay.Term) error {
			var workers sync.WaitGroup
			for range 16 {
				workers.Go(func() {
					for range 100 {
						term.Progress()
						if !term.Valid() || term.Token() != 1 {
							t.Error("the term is on")
						}
						time.Sleep(time.Second)
					}
				})
			}
			workers.Wait()
			return nil
		})
		require.NoError(t, err)
	})
}
