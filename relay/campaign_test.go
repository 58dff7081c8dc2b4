package relay_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

var errNoAnswer = errors.New("connection reset: no answer")

// loseReplies executes the requests for which lost is true and loses what the
// store answers.
func loseReplies(lost func(n int) bool) func(int, func() (relay.Lease, error)) (relay.Lease, error) {
	return func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
		lease, err := ask()
		if lost(n) {
			return relay.Lease{}, errNoAnswer
		}
		return lease, err
	}
}

func TestCampaign_AnUnansweredRequestIsNotLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy, log := newSpyStore(), &eventLog{}
		spy.request = loseReplies(func(n int) bool { return n <= 2 })
		e := newLeaseElector(t, spy, relay.LeaseElectorConfig{Observer: log.observe, Jitter: longest})
		began := time.Now()
		err := e.Run(t.Context(), "reports", func(_ context.Context, term relay.Term) error {
			require.Equal(t, 10*time.Second, time.Since(began), "nothing runs before a request is answered; each retry waits P")
			require.Equal(t, relay.Token(1), term.Token(), "a retry with the same nonce is a renewal of what may have been granted")
			return nil
		})
		require.NoError(t, err)
		made := spy.made("request")
		require.Len(t, made, 3)
		require.Equal(t, made[0].owner, made[1].owner)
		require.Equal(t, made[0].owner, made[2].owner)
		require.Len(t, log.of(relay.EventFailed), 2)
	})
}

func TestCampaign_ThatEndsInDoubtLeavesNoClaimBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		spy.request = loseReplies(func(int) bool { return true })
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		err := newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(ctx, "reports", func(context.Context, relay.Term) error {
			t.Error("the work ran without an answer")
			return nil
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = spy.LeaseStore.Current(t.Context(), "reports")
		require.ErrorIs(t, err, relay.ErrNotHeld, "on the way out it asks who holds the role and releases its own claim")
	})
}

func TestCampaign_ThatEndsWhileItIsGrantedRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		spy.request = func(_ int, ask func() (relay.Lease, error)) (relay.Lease, error) {
			cancel()
			return ask()
		}
		err := newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(ctx, "reports", func(context.Context, relay.Term) error {
			t.Error("the work ran after its context had ended")
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		_, err = spy.LeaseStore.Current(t.Context(), "reports")
		require.ErrorIs(t, err, relay.ErrNotHeld, "the grant was given back")
	})
}

func TestCampaign_OnTheWayOutReleasesOnlyWhatIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		other, err := spy.LeaseStore.TryAcquireOrRenew(t.Context(), "reports", "other", time.Hour)
		require.NoError(t, err)
		spy.request = func(int, func() (relay.Lease, error)) (relay.Lease, error) { return relay.Lease{}, errNoAnswer }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(ctx, "reports", untilDone)
		require.Len(t, spy.made("current"), 1)
		require.Empty(t, spy.made("release"))
		held, err := spy.LeaseStore.Current(t.Context(), "reports")
		require.NoError(t, err)
		require.Equal(t, other, held)
	})
}

func TestCampaign_AStoreThatIsDownYieldsNoLeaderUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const down, up = time.Minute, 3 * time.Minute // after the beginning
		spy, began := newSpyStore(), time.Now()
		spy.request = func(_ int, ask func() (relay.Lease, error)) (relay.Lease, error) {
			if since := time.Since(began); since >= down && since < up {
				return relay.Lease{}, errStoreDown
			}
			return ask()
		}
		terms := 0
		err := newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(aDay(t), "reports", func(led context.Context, term relay.Term) error {
			if terms++; terms == 2 {
				require.LessOrEqual(t, time.Since(began), up+5*time.Second, "a leader again within P of the recovery")
				return nil
			}
			<-led.Done()
			require.LessOrEqual(t, time.Since(began), down+27*time.Second, "no leader T − m after the last answer")
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 2, terms)
	})
}

func TestRelease_WaitsForTheRenewalUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		answered := time.Time{}
		leave := make(chan struct{})
		spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
			if n == 2 {
				close(leave) // the work returns while the renewal is on its way
				time.Sleep(3 * time.Second)
				answered = time.Now()
			}
			return ask()
		}
		err := newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(t.Context(), "reports", func(context.Context, relay.Term) error {
			<-leave
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, answered, spy.made("release")[0].at, "the renewer is joined before the release, so it can't take the lease again after it")
		time.Sleep(10 * time.Minute)
		require.Len(t, spy.made("request"), 2, "no renewal outlives the term")
		_, err = spy.LeaseStore.Current(t.Context(), "reports")
		require.ErrorIs(t, err, relay.ErrNotHeld)
	})
}

func TestRelease_AfterALossFindsWhatALateRequestTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		// The lease lapses, then a renewal that got no answer takes it anew.
		spy.request = func(n int, ask func() (relay.Lease, error)) (relay.Lease, error) {
			switch {
			case n == 1:
				return ask()
			case n == 2:
				time.AfterFunc(40*time.Second, func() { _, _ = ask() })
			}
			return relay.Lease{}, errNoAnswer
		}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		err := newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(ctx, "reports", func(led context.Context, term relay.Term) error {
			<-led.Done()
			time.Sleep(30 * time.Second) // winds down slowly
			held, err := spy.LeaseStore.Current(context.Background(), "reports")
			require.NoError(t, err)
			require.Equal(t, relay.Token(2), held.Token)
			cancel()
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		_, err = spy.LeaseStore.Current(t.Context(), "reports")
		require.ErrorIs(t, err, relay.ErrNotHeld, "it carried the elector's nonce, so the elector released it")
	})
}

func TestRelease_ThatCannotAskReleasesTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpyStore()
		spy.current = func(func() (relay.Lease, error)) (relay.Lease, error) { return relay.Lease{}, errStoreDown }
		err := newLeaseElector(t, spy, relay.LeaseElectorConfig{}).Run(t.Context(), "reports", func(context.Context, relay.Term) error { return nil })
		require.NoError(t, err)
		_, err = spy.LeaseStore.Current(t.Context(), "reports")
		require.ErrorIs(t, err, relay.ErrNotHeld)
	})
}

func TestRelease_IsDetachedAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := hungStore{newSpyStore()}
		log := &eventLog{}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		var left time.Time
		err := newLeaseElector(t, hung, relay.LeaseElectorConfig{Observer: log.observe}).Run(ctx, "reports", func(context.Context, relay.Term) error {
			cancel()
			left = time.Now()
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 10*time.Second, time.Since(left), "two calls, each bounded by RequestTimeout and not by the context that has ended")
		require.ErrorIs(t, log.of(relay.EventFailed)[0].Err, context.DeadlineExceeded)
	})
}

// hungStore answers requests for the lease and nothing else.
type hungStore struct{ *spyStore }

func (hungStore) Current(ctx context.Context, _ string) (relay.Lease, error) {
	<-ctx.Done()
	return relay.Lease{}, ctx.Err()
}

func (hungStore) Release(ctx context.Context, _ relay.Lease) error {
	<-ctx.Done()
	return ctx.Err()
}
