package relay_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

func TestLeaseElector_WorkGetsTheTokenOfItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newLeaseElector(t, memory.NewLeaseStore(nil), relay.LeaseElectorConfig{})
		for want := relay.Token(1); want <= 3; want++ {
			err := e.Run(t.Context(), "reports", func(ctx context.Context, term relay.Term) error {
				require.Equal(t, want, term.Token(), "each term has the token after the last one's")
				require.True(t, term.Valid())
				require.NoError(t, ctx.Err())
				return nil
			})
			require.NoError(t, err)
		}
	})
}

func TestLeaseElector_ReturnsWhatTheWorkReturnedOnceTheRoleIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.NewLeaseStore(nil)
		e := newLeaseElector(t, store, relay.LeaseElectorConfig{})
		var kept relay.Term
		for _, want := range []error{nil, errors.New("disk full")} {
			err := e.Run(t.Context(), "reports", func(_ context.Context, term relay.Term) error {
				kept = term
				return want
			})
			require.Equal(t, want, err)
			_, err = store.Current(t.Context(), "reports")
			require.ErrorIs(t, err, relay.ErrNotHeld, "Run gives the lease up before it returns")
			require.False(t, kept.Valid(), "a term ends with its lease, for whoever kept a copy of it too")
		}
	})
}

func TestLeaseElector_TheNextInstanceLeadsAsSoonAsTheLeaseIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.NewLeaseStore(nil)
		first := newLeaseElector(t, store, relay.LeaseElectorConfig{Owner: "first"})
		second := newLeaseElector(t, store, relay.LeaseElectorConfig{Owner: "second"})
		ended, tookOver := time.Time{}, time.Time{}

		firstDone := start(func() error {
			return first.Run(t.Context(), "reports", func(context.Context, relay.Term) error {
				time.Sleep(time.Minute)
				ended = time.Now()
				return nil
			})
		})
		synctest.Wait()
		secondDone := start(func() error {
			return second.Run(t.Context(), "reports", func(_ context.Context, term relay.Term) error {
				tookOver = time.Now()
				require.Equal(t, relay.Token(2), term.Token())
				return nil
			})
		})
		require.NoError(t, <-firstDone)
		require.NoError(t, <-secondDone)
		require.Equal(t, ended, tookOver, "a store that tells of the release hands over at once")
	})
}

func TestLeaseElector_WithoutAHintTheNextInstanceLeadsWithinTheRetryInterval(t *testing.T) {
	// A struct of the interface hides the memory store's WaitReleased.
	type plain struct{ relay.LeaseStore }
	hints := map[string]func(relay.LeaseStore) relay.LeaseStore{
		"no hint":           func(s relay.LeaseStore) relay.LeaseStore { return plain{s} },
		"a hint that fails": func(s relay.LeaseStore) relay.LeaseStore { return failingHint{s} },
	}
	for name, wrap := range hints {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spy := newSpyStore()
				lease, err := spy.LeaseStore.TryAcquireOrRenew(t.Context(), "reports", "other", time.Hour)
				require.NoError(t, err)
				time.AfterFunc(61*time.Second, func() { _ = spy.LeaseStore.Release(context.Background(), lease) })

				began := time.Now()
				e := newLeaseElector(t, wrap(spy), relay.LeaseElectorConfig{Jitter: longest})
				require.NoError(t, e.Run(t.Context(), "reports", func(context.Context, relay.Term) error { return nil }))
				require.Equal(t, 65*time.Second, time.Since(began), "the tries fall 5 s apart, the first after the release wins")
				require.Len(t, spy.made("request"), 14, "one try an interval, not a busy loop")
			})
		})
	}
}

type failingHint struct{ relay.LeaseStore }

func (failingHint) WaitReleased(context.Context, string) error {
	return errors.New("no notifications here")
}

func TestLeaseElector_PausesBetweenHalfAndAllOfTheRetryInterval(t *testing.T) {
	jitters := map[string]struct {
		jitter func(time.Duration) time.Duration
		want   time.Duration
	}{
		"none":           {func(time.Duration) time.Duration { return 0 }, 2500 * time.Millisecond},
		"some":           {func(most time.Duration) time.Duration { return most / 5 }, 3 * time.Second},
		"all":            {longest, 5 * time.Second},
		"too much":       {func(most time.Duration) time.Duration { return 9 * most }, 5 * time.Second},
		"less than none": {func(time.Duration) time.Duration { return -time.Hour }, 2500 * time.Millisecond},
	}
	for name, c := range jitters {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spy := newSpyStore()
				spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
					if n == 1 {
						return relay.Lease{}, errors.New("store down")
					}
					return ask()
				}
				began := time.Now()
				e := newLeaseElector(t, spy, relay.LeaseElectorConfig{Jitter: c.jitter})
				require.NoError(t, e.Run(t.Context(), "reports", func(context.Context, relay.Term) error { return nil }))
				require.Equal(t, c.want, time.Since(began), "the pause is P/2 + Jitter(P/2), with what Jitter returns held to 0..P/2")
			})
		})
	}
}

func TestLeaseElector_NothingRunsUnlessElected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.NewLeaseStore(nil)
		_, err := store.TryAcquireOrRenew(t.Context(), "reports", "other", time.Hour)
		require.NoError(t, err)
		stop := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(stop) })

		log := &eventLog{}
		e := newLeaseElector(t, store, relay.LeaseElectorConfig{Observer: log.observe})
		err = e.Run(ctx, "reports", func(context.Context, relay.Term) error {
			t.Error("the work ran although another instance holds the role")
			return nil
		})
		require.Equal(t, stop, err, "Run returns the cause of its context's end")
		require.Empty(t, log.of(relay.EventElected))
		denied := log.of(relay.EventDenied)
		require.NotEmpty(t, denied)
		var held *relay.HeldError
		require.ErrorAs(t, denied[0].Err, &held)
		require.Equal(t, "other", held.Lease.Owner, "a denial tells who holds the role")
	})
}

func TestLeaseElector_StepsDownAndStandsAgainAfterAFullRetryInterval(t *testing.T) {
	for name, stepDown := range map[string]error{
		"the work resigns":             relay.ErrResign,
		"the work resigns, wrapped":    fmt.Errorf("lost quorum: %w", relay.ErrResign),
		"the resource refused a token": &relay.StaleTokenError{Token: 1, Highest: 2},
		"a refused token, wrapped":     fmt.Errorf("write: %w", &relay.StaleTokenError{Token: 1, Highest: 2}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spy, log := newSpyStore(), &eventLog{}
				e := newLeaseElector(t, spy, relay.LeaseElectorConfig{
					Observer:    log.observe,
					HoldAtLeast: time.Hour, // must not hold back a step-down
					Jitter:      func(time.Duration) time.Duration { return 0 },
				})
				began, terms := time.Now(), 0
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := e.Run(ctx, "reports", func(_ context.Context, term relay.Term) error {
					terms++
					require.Equal(t, relay.Token(terms), term.Token(), "the role was released and taken anew")
					if terms == 1 {
						return stepDown
					}
					require.Equal(t, 5*time.Second, time.Since(began), "the whole interval, without jitter: others come first")
					cancel()
					return nil
				})
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, 2, terms)
				made := spy.made("request")
				require.NotEqual(t, made[0].owner, made[len(made)-1].owner, "each term of one Run draws a nonce of its own")
				if errors.Is(stepDown, relay.ErrResign) {
					require.Empty(t, log.of(relay.EventFailed), "to resign is no failure")
				} else {
					require.Len(t, log.of(relay.EventFailed), 1)
				}
			})
		})
	}
}

func TestLeaseElector_TheLeaseIsRenewedAndHeldUntilTheWorkHasWoundDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("shutting down")
		spy, log := newSpyStore(), &eventLog{}
		ctx, cancel := context.WithCancelCause(t.Context())
		e := newLeaseElector(t, spy, relay.LeaseElectorConfig{Observer: log.observe})

		err := e.Run(ctx, "reports", func(ctx context.Context, term relay.Term) error {
			cancel(stop)
			<-ctx.Done()
			require.Equal(t, stop, context.Cause(ctx))
			for range 5 { // a callback that takes its time: more than four TTLs
				time.Sleep(25 * time.Second)
				require.True(t, term.Valid(), "renewals go on while the work winds down")
				lease, err := spy.LeaseStore.Current(context.Background(), "reports")
				require.NoError(t, err, "a lease is never released under its work")
				require.Equal(t, term.Token(), lease.Token)
			}
			return errors.New("could not flush")
		})
		require.Equal(t, stop, err)
		_, err = spy.LeaseStore.Current(t.Context(), "reports")
		require.ErrorIs(t, err, relay.ErrNotHeld, "it is released once the work has returned")
		require.Len(t, spy.made("release"), 1)
		require.Len(t, log.of(relay.EventReleased), 1)
		failed := log.of(relay.EventFailed)
		require.Len(t, failed, 1)
		require.ErrorContains(t, failed[0].Err, "could not flush", "an error that Run does not return goes to the observer")
	})
}

func TestLeaseElector_APanicPassesThroughOnceTheRoleIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.NewLeaseStore(nil)
		e := newLeaseElector(t, store, relay.LeaseElectorConfig{})
		require.PanicsWithValue(t, "boom", func() {
			_ = e.Run(t.Context(), "reports", func(context.Context, relay.Term) error { panic("boom") })
		}, "the panic reaches whoever called Run, on that goroutine")
		_, err := store.Current(t.Context(), "reports")
		require.ErrorIs(t, err, relay.ErrNotHeld)

		exited := make(chan struct{})
		go func() {
			defer close(exited)
			_ = e.Run(t.Context(), "reports", func(context.Context, relay.Term) error {
				runtime.Goexit()
				return nil
			})
			t.Error("Goexit of the work must end the goroutine that called Run")
		}()
		<-exited
		_, err = store.Current(t.Context(), "reports")
		require.ErrorIs(t, err, relay.ErrNotHeld)
	})
}

func TestLeaseElector_EveryTermIsAnOwnerOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		e := newLeaseElector(t, spy, relay.LeaseElectorConfig{Owner: "pod-7"})
		owners := map[string]bool{}
		for range 3 {
			require.NoError(t, e.Run(t.Context(), "reports", func(context.Context, relay.Term) error { return nil }))
		}
		for _, c := range spy.made("request") {
			name, nonce, found := strings.Cut(c.owner, "/")
			require.True(t, found)
			require.Equal(t, "pod-7", name)
			require.Len(t, nonce, 26)
			owners[c.owner] = true
		}
		require.Len(t, owners, 3, "two processes that share a configured name must not share a token, so each term draws a nonce")
	})
}

func TestLeaseElector_ARestartedProcessWaitsOutItsOldLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.NewLeaseStore(nil)
		_, err := store.TryAcquireOrRenew(t.Context(), "reports", "pod-7/nonce of the process that was killed", 30*time.Second)
		require.NoError(t, err)
		began := time.Now()
		e := newLeaseElector(t, store, relay.LeaseElectorConfig{Owner: "pod-7", Jitter: longest})
		err = e.Run(t.Context(), "reports", func(_ context.Context, term relay.Term) error {
			require.Equal(t, relay.Token(2), term.Token())
			return nil
		})
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(began), 30*time.Second, "the nonce's price: the name alone does not renew")
		require.LessOrEqual(t, time.Since(began), 35*time.Second, "after a crash the next leader comes within T + P")
	})
}

func TestLeaseElector_HoldAtLeastKeepsAShortJobFromRunningEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.NewLeaseStore(nil)
		done := errors.New("done")
		runs, began := 0, time.Now()
		others, stopOthers := context.WithCancel(t.Context())
		var results []<-chan error
		for i, ctx := range []context.Context{t.Context(), others, others} {
			e := newLeaseElector(t, store, relay.LeaseElectorConfig{Owner: fmt.Sprint("node-", i), HoldAtLeast: time.Minute})
			results = append(results, start(func() error {
				return e.Run(ctx, "nightly", func(context.Context, relay.Term) error {
					runs++
					return done
				})
			}))
			synctest.Wait()
		}
		time.Sleep(59 * time.Second)
		require.Equal(t, 1, runs, "while one instance holds the role the others don't run the job again")
		stopOthers()
		<-results[1]
		<-results[2]
		require.Equal(t, done, <-results[0], "Run returns what the work returned")
		require.Equal(t, time.Minute, time.Since(began), "counted from the grant")
	})
}

func TestLeaseElector_HoldAtLeastCountsFromTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		spy.request = func(_ int, ask func() (relay.Lease, error)) (relay.Lease, error) {
			lease, err := ask()
			time.Sleep(4 * time.Second)
			return lease, err
		}
		var granted time.Time
		e := newLeaseElector(t, spy, relay.LeaseElectorConfig{HoldAtLeast: time.Minute})
		require.NoError(t, e.Run(t.Context(), "nightly", func(context.Context, relay.Term) error {
			granted = time.Now()
			time.Sleep(20 * time.Second)
			return nil
		}))
		held := spy.made("release")[0].at.Sub(granted)
		require.GreaterOrEqual(t, held, time.Minute, "not from before the request, nor from the end of the work")
		require.Less(t, held, time.Minute+5*time.Second, "a renewal under way is waited for, and no more")
	})
}

func TestLeaseElector_HoldAtLeastIsCutShort(t *testing.T) {
	done, stop := errors.New("done"), errors.New("shutting down")
	t.Run("by loss", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			spy := newSpyStore()
			spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
				if n == 1 {
					return ask()
				}
				return relay.Lease{}, errors.New("store down")
			}
			began := time.Now()
			e := newLeaseElector(t, spy, relay.LeaseElectorConfig{HoldAtLeast: time.Hour})
			err := e.Run(t.Context(), "nightly", func(context.Context, relay.Term) error { return done })
			require.Equal(t, done, err, "the job has run: Run returns what it returned")
			require.Equal(t, 27*time.Second, time.Since(began))
		})
	})
	t.Run("by the end of ctx", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			log := &eventLog{}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10*time.Second, func() { cancel(stop) })
			e := newLeaseElector(t, memory.NewLeaseStore(nil), relay.LeaseElectorConfig{HoldAtLeast: time.Hour, Observer: log.observe})
			err := e.Run(ctx, "nightly", func(context.Context, relay.Term) error { return done })
			require.Equal(t, stop, err)
			require.ErrorIs(t, log.of(relay.EventFailed)[0].Err, done, "what the work returned goes to the observer")
		})
	})
	t.Run("and a finished job does not stall", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			e := newLeaseElector(t, memory.NewLeaseStore(nil), relay.LeaseElectorConfig{HoldAtLeast: time.Hour, StallAfter: time.Minute})
			err := e.Run(t.Context(), "nightly", func(context.Context, relay.Term) error { return done })
			require.Equal(t, done, err)
			require.Equal(t, time.Hour, time.Since(began), "after it has returned the work owes no progress")
		})
	})
}

func TestNewLeaseElector_RefusesWhatCannotWork(t *testing.T) {
	store := memory.NewLeaseStore(nil)
	cases := map[string]struct {
		cfg  relay.LeaseElectorConfig
		want string
	}{
		"renewals as far apart as the TTL": {relay.LeaseElectorConfig{TTL: time.Minute, RenewInterval: time.Minute},
			"RenewInterval + RequestTimeout + Margin < TTL does not hold: 1m0s + 10s + 6s against 1m0s"},
		"a sum equal to the TTL": {relay.LeaseElectorConfig{TTL: 10 * time.Second, RenewInterval: 6 * time.Second, RequestTimeout: 3 * time.Second, Margin: time.Second},
			"does not hold: 6s + 3s + 1s against 10s"},
		"a sum that overflows": {relay.LeaseElectorConfig{RenewInterval: 1<<63 - 1, Margin: 1<<63 - 1}, "does not hold"},
		"a negative TTL":       {relay.LeaseElectorConfig{TTL: -1}, "TTL -1ns is negative"},
		"a negative interval":  {relay.LeaseElectorConfig{RenewInterval: -1}, "RenewInterval -1ns is negative"},
		"a negative margin":    {relay.LeaseElectorConfig{Margin: -1}, "Margin -1ns is negative"},
		"a negative timeout":   {relay.LeaseElectorConfig{RequestTimeout: -1}, "RequestTimeout -1ns is negative"},
		"a negative retry":     {relay.LeaseElectorConfig{RetryInterval: -1}, "RetryInterval -1ns is negative"},
		"a negative stall":     {relay.LeaseElectorConfig{StallAfter: -1}, "StallAfter -1ns is negative"},
		"a negative hold":      {relay.LeaseElectorConfig{HoldAtLeast: -1}, "HoldAtLeast -1ns is negative"},
		"too short a TTL":      {relay.LeaseElectorConfig{TTL: time.Microsecond}, "invalid TTL"},
		"too long a TTL":       {relay.LeaseElectorConfig{TTL: 87_601 * time.Hour}, "invalid TTL"},
		"too long a timeout":   {relay.LeaseElectorConfig{TTL: 24 * time.Hour, RequestTimeout: 61 * time.Minute}, "RequestTimeout 1h1m0s is more than 1h0m0s"},
		"too long an owner":    {relay.LeaseElectorConfig{Owner: strings.Repeat("o", 229)}, "229 bytes"},
		"a broken owner":       {relay.LeaseElectorConfig{Owner: "a\x00b"}, "invalid name"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e, err := relay.NewLeaseElector(store, c.cfg)
			require.ErrorContains(t, err, c.want)
			require.Nil(t, e)
		})
	}
	_, err := relay.NewLeaseElector(nil, relay.LeaseElectorConfig{})
	require.ErrorContains(t, err, "LeaseStore is nil")
	for _, ttl := range []time.Duration{time.Millisecond, time.Second, 24 * time.Hour, 87_600 * time.Hour} {
		_, err := relay.NewLeaseElector(store, relay.LeaseElectorConfig{TTL: ttl, Owner: strings.Repeat("o", 228)})
		require.NoError(t, err, "the defaults follow any valid TTL: %v", ttl)
	}
}

func TestLeaseElector_RefusesBadArgumentsBeforeAnyCall(t *testing.T) {
	spy := newSpyStore()
	e := newLeaseElector(t, spy, relay.LeaseElectorConfig{})
	work := func(context.Context, relay.Term) error { return nil }
	for _, role := range []string{"", strings.Repeat("r", 249), "a\x00b", "a\xffb"} {
		require.ErrorIs(t, e.Run(t.Context(), role, work), relay.ErrInvalidName)
	}
	require.ErrorContains(t, e.Run(t.Context(), "reports", nil), "lead is nil")
	require.ErrorContains(t, (&relay.LeaseElector{}).Run(t.Context(), "reports", work), "NewLeaseElector")
	require.ErrorContains(t, (*relay.LeaseElector)(nil).Run(t.Context(), "reports", work), "NewLeaseElector")

	stop := errors.New("stopped before it began")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	require.Equal(t, stop, e.Run(ctx, "reports", work))
	require.Empty(t, spy.order())
	require.NoError(t, e.Run(t.Context(), strings.Repeat("r", 248), work))
}
