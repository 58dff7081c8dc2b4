package memory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

func TestLeaseStore_TwoStoresElectTwoLeaders(t *testing.T) {
	for range 2 {
		lease, err := memory.NewLeaseStore(nil).TryAcquireOrRenew(t.Context(), "role", "me", time.Hour)
		require.NoError(t, err, "a limit that doc.go admits: each has leases of its own")
		require.Equal(t, relay.Token(1), lease.Token)
	}
}

func TestLeaseStore_ExpiresAtIsTheStoresClockPlusTheTTL(t *testing.T) {
	clock := newClock()
	leases := memory.NewLeaseStore(clock.Now)
	lease, err := leases.TryAcquireOrRenew(t.Context(), "role", "me", time.Minute)
	require.NoError(t, err)
	require.Equal(t, clock.Now().Add(time.Minute), lease.ExpiresAt)
}

func TestLeaseStore_ExpiresAtCarriesNoMonotonicReading(t *testing.T) {
	lease, err := memory.NewLeaseStore(nil).TryAcquireOrRenew(t.Context(), "role", "me", time.Minute)
	require.NoError(t, err)
	require.Equal(t, lease.ExpiresAt.Round(0), lease.ExpiresAt, "a store shows everybody one clock, the wall clock")
}

func TestLeaseStore_AClockThatGoesBackMakesLeasesLastLonger(t *testing.T) {
	clock := newClock()
	leases := memory.NewLeaseStore(clock.Now)
	lease, err := leases.TryAcquireOrRenew(t.Context(), "role", "me", time.Minute)
	require.NoError(t, err)

	clock.Advance(-time.Hour)
	now, err := leases.Current(t.Context(), "role")
	require.NoError(t, err)
	require.Equal(t, lease, now)
	renewed, err := leases.TryAcquireOrRenew(t.Context(), "role", "me", time.Minute)
	require.NoError(t, err)
	require.Equal(t, lease.Token, renewed.Token)
	require.NoError(t, leases.Release(t.Context(), renewed))

	clock.Advance(-time.Hour)
	_, err = leases.Current(t.Context(), "role")
	require.ErrorIs(t, err, relay.ErrNotHeld, "a released lease stays released, whatever the clock does")
	next, err := leases.TryAcquireOrRenew(t.Context(), "role", "you", time.Minute)
	require.NoError(t, err)
	require.Equal(t, lease.Token+1, next.Token, "tokens don't follow the clock")
}

func TestLeaseStore_TheLastTokenIsNotWrappedAround(t *testing.T) {
	clock := newClock()
	leases := memory.NewLeaseStore(clock.Now)
	require.NoError(t, leases.AdvanceToken(t.Context(), "role", relay.MaxToken-1))
	last, err := leases.TryAcquireOrRenew(t.Context(), "role", "me", time.Minute)
	require.NoError(t, err)
	require.Equal(t, relay.MaxToken, last.Token)

	clock.Advance(time.Minute)
	for range 2 {
		_, err = leases.TryAcquireOrRenew(t.Context(), "role", "me", time.Minute)
		require.ErrorIs(t, err, relay.ErrTokensExhausted, "a lapse needs a new token, and there is none")
	}
	clock.Advance(-time.Minute)
	now, err := leases.Current(t.Context(), "role")
	require.NoError(t, err)
	require.Equal(t, last, now, "a refused grant has changed nothing")
}

func TestLeaseStore_LooksAtItsArgumentsFirst(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	leases := memory.NewLeaseStore(nil)
	_, err := leases.TryAcquireOrRenew(ended, "", "\x00", 0)
	require.ErrorIs(t, err, relay.ErrInvalidName)
	require.ErrorIs(t, err, relay.ErrInvalidTTL, "all that is wrong is told at once")
	require.ErrorIs(t, leases.Release(ended, relay.Lease{}), relay.ErrInvalidName)
	require.ErrorIs(t, leases.AdvanceToken(ended, "role", -1), relay.ErrInvalidToken)
	require.ErrorIs(t, leases.WaitReleased(ended, ""), relay.ErrInvalidName)
}

func TestLeaseStore_ALapseWakesNobodyAndTheNextReleaseDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := memory.NewLeaseStore(nil)
		_, err := leases.TryAcquireOrRenew(t.Context(), "role", "me", time.Second)
		require.NoError(t, err)
		woken := make(chan error, 1)
		go func() { woken <- leases.WaitReleased(t.Context(), "role") }()
		synctest.Wait()

		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, woken, "a wait for a release does not watch the clock: no timer runs behind a store")
		next, err := leases.TryAcquireOrRenew(t.Context(), "role", "you", time.Second)
		require.NoError(t, err)
		require.NoError(t, leases.Release(t.Context(), next))
		require.NoError(t, <-woken)
	})
}

// Each try moves the clock, so leases are released, renewed, and taken over
// after a lapse, all at once. Afterwards the history is read: by the store's
// clock, no grant may lie within the one before it.
func TestLeaseStore_OneOwnerAtATimeUnderStress(t *testing.T) {
	const owners, tries = 8, 300
	const ttl = 10 * time.Millisecond
	type tenure struct {
		owner       string
		from, until time.Time
		released    bool
	}
	clock := newClock()
	leases := memory.NewLeaseStore(clock.Now)
	var mu sync.Mutex // guards history
	history := make(map[relay.Token]tenure)
	note := func(lease relay.Lease, released bool) {
		mu.Lock()
		defer mu.Unlock()
		h, known := history[lease.Token]
		from := lease.ExpiresAt.Add(-ttl)
		if known && h.owner != lease.Owner {
			t.Errorf("token %d granted to %q and to %q", lease.Token, h.owner, lease.Owner)
		}
		if !known || from.Before(h.from) {
			h.from = from
		}
		if lease.ExpiresAt.After(h.until) {
			h.until = lease.ExpiresAt
		}
		h.owner, h.released = lease.Owner, h.released || released
		history[lease.Token] = h
	}

	var wg sync.WaitGroup
	for o := range owners {
		wg.Go(func() {
			owner := fmt.Sprint("owner ", o)
			for i := range tries {
				lease, err := leases.TryAcquireOrRenew(t.Context(), "role", owner, ttl)
				clock.Advance(time.Millisecond)
				if err != nil {
					continue
				}
				note(lease, false)
				if i%3 == 0 && leases.Release(t.Context(), lease) == nil {
					note(lease, true)
				}
			}
		})
	}
	wg.Wait()
	for token := relay.Token(2); int(token) <= len(history); token++ {
		before, now := history[token-1], history[token]
		require.NotEmpty(t, now.owner, "token %d was skipped", token)
		if !before.released {
			require.False(t, now.from.Before(before.until),
				"token %d granted to %q while %q still held the role with %d", token, now.owner, before.owner, token-1)
		}
	}
}
