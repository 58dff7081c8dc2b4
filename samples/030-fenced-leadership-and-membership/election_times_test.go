package leadership_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

func TestElection_RenewalsTooFarApartAreRefusedByTheInequalityThatTheyBreak(t *testing.T) {
	leases := memory.NewLeaseStore(nil)

	_, err := relay.NewLeaseElector(leases, relay.LeaseElectorConfig{TTL: 30 * time.Second, RenewInterval: 22 * time.Second})
	require.ErrorContains(t, err, "RenewInterval + RequestTimeout + Margin < TTL does not hold: 22s + 5s + 3s against 30s",
		"the first renewal could be answered after the end of the trust")

	_, err = relay.NewLeaseElector(leases, relay.LeaseElectorConfig{TTL: 30 * time.Second, RenewInterval: 21 * time.Second})
	require.NoError(t, err, "one chance to renew is allowed; the default, a third of the TTL, leaves more")
}

func TestElection_TwoLostRenewalsInARowAreSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newInstance(t, "node-a", memory.NewLeaseStore(nil))
		require.NoError(t, a.Run(t.Context(), role, func(ctx context.Context, term relay.Term) error {
			time.Sleep(10 * time.Second) // one renewal has been answered
			a.link.lose.Store(2)
			time.Sleep(10 * time.Minute)
			require.True(t, term.Valid(), "of several chances to renew, one is enough")
			return ctx.Err()
		}))
	})
}

func TestElection_UnansweredLeaderTriesToRenewWhileThereIsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewed time.Time     // the last answered renewal
		var tries []time.Duration // after it, each without an answer
		var ended time.Duration   // after it
		a := newInstance(t, "node-a", memory.NewLeaseStore(nil), observed(func(e relay.Event) {
			switch e.Kind {
			case relay.EventRenewed:
				renewed = time.Now()
			case relay.EventFailed:
				tries = append(tries, time.Since(renewed)-e.Took)
			case relay.EventLost:
				ended = time.Since(renewed)
			}
		}))
		running, stop := context.WithTimeout(t.Context(), time.Hour)
		_ = a.Run(running, role, func(ctx context.Context, _ relay.Term) error {
			defer stop()
			time.Sleep(10 * time.Second)
			a.link.cut.Store(true)
			<-ctx.Done()
			return nil
		})
		require.Equal(t, []time.Duration{10 * time.Second, 15 * time.Second, 20 * time.Second, 25 * time.Second}, tries,
			"a renewal is due every 10 s, and one that fails is tried again 5 s after it began")
		require.Equal(t, 27*time.Second, ended, "then the trust has run out, 3 s before the lease does")
	})
}

func TestElection_OutageOfFifteenSecondsIsSurvivedEvenRightBeforeARenewal(t *testing.T) {
	for outage, survived := range map[time.Duration]bool{
		15 * time.Second:         true,
		15100 * time.Millisecond: false, // the last of the four tries was sent 0.05 s too early
	} {
		synctest.Test(t, func(t *testing.T) {
			renewals := make(chan struct{}, 100)
			a := newInstance(t, "node-a", memory.NewLeaseStore(nil), observed(func(e relay.Event) {
				if e.Kind == relay.EventRenewed {
					renewals <- struct{}{}
				}
			}))
			running, stop := context.WithTimeout(t.Context(), time.Hour)
			_ = a.Run(running, role, func(_ context.Context, term relay.Term) error {
				defer stop()
				<-renewals
				time.Sleep(9950 * time.Millisecond) // the next one is due in 0.05 s
				a.link.cut.Store(true)
				time.Sleep(outage)
				a.link.cut.Store(false)
				time.Sleep(time.Minute)
				require.Equal(t, survived, term.Valid(), "after an outage of %v", outage)
				return nil
			})
		})
	}
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

func TestElection_StoresClockMayBeHoursOffButNotAFifthTooFast(t *testing.T) {
	for clock, c := range map[string]struct {
		offset time.Duration
		rate   float64 // seconds of the store's clock in one of the instance's
		safe   bool
	}{
		"an hour behind": {-time.Hour, 1, true},
		"an hour ahead":  {time.Hour, 1, true},
		"a tenth slower": {0, 0.9, true},
		"a tenth faster": {0, 1.1, true},
		"a fifth faster": {0, 1.2, false}, // more than margin / TTL = 3 s / 30 s
	} {
		t.Run(clock, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				shared := memory.NewLeaseStore(func() time.Time {
					return began.Add(c.offset + time.Duration(float64(time.Since(began))*c.rate))
				})
				a := newInstance(t, "node-a", shared)
				running, stop := context.WithTimeout(t.Context(), time.Hour)
				_ = a.Run(running, role, func(ctx context.Context, _ relay.Term) error {
					defer stop()
					a.link.cut.Store(true)
					<-ctx.Done()
					require.Equal(t, 27*time.Second, time.Since(began), "the instance counts, and looks at no one else's clock")
					_, err := shared.Current(t.Context(), role)
					require.Equal(t, c.safe, err == nil, "the lease must be live until the term is over: %v", err)
					return nil
				})
			})
		})
	}
}
