package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

// newLeases returns a lock service, and what sets its clock to so long after
// the start.
func newLeases() (at func(time.Duration), leases *memory.LeaseStore) {
	start := time.Date(2016, time.February, 8, 12, 0, 0, 0, time.UTC)
	now := start
	at = func(since time.Duration) { now = start.Add(since) }
	return at, memory.NewLeaseStore(func() time.Time { return now })
}

// acquire takes the lock, and must succeed.
func acquire(t *testing.T, leases relay.LeaseStore, client string) relay.Lease {
	t.Helper()
	lease, err := leases.TryAcquireOrRenew(t.Context(), role, client, ttl)
	require.NoError(t, err)
	return lease
}

// The timeline, with the times of the article.
func TestTimeline_PausedClientWritesFourteenSecondsAfterItsSuccessor(t *testing.T) {
	history := func(t *testing.T, resource storage) (late error) {
		at, leases := newLeases()
		a := acquire(t, leases, "A")

		at(5 * time.Second) // A begins a long pause
		_, err := leases.TryAcquireOrRenew(t.Context(), role, "B", ttl)
		require.ErrorIs(t, err, relay.ErrNotAcquired, "while the lease lives the lock does its work")

		at(30 * time.Second) // the lease has ended
		b := acquire(t, leases, "B")

		at(31 * time.Second)
		require.NoError(t, resource.write(b.Token, "B's update"))

		at(45 * time.Second) // A wakes up
		return resource.write(a.Token, "A's stale update")
	}

	plain := &plainStorage{}
	require.NoError(t, history(t, plain), "two clients have written under one lock")
	require.Equal(t, "A's stale update", plain.read())

	fenced := &fencedStorage{}
	require.ErrorIs(t, history(t, fenced), relay.ErrStaleToken)
	require.Equal(t, "B's update", fenced.read())
}

func TestLease_CrashedHolderIsReplacedOnceItsLeaseExpires(t *testing.T) {
	at, leases := newLeases()
	acquire(t, leases, "A") // and crashes

	at(ttl - 1)
	_, err := leases.TryAcquireOrRenew(t.Context(), role, "B", ttl)
	require.ErrorIs(t, err, relay.ErrNotAcquired, "A's lease lives")

	at(ttl)
	acquire(t, leases, "B")
}

// The twin: a lock that expires in ten years is one that does not expire.
func TestLease_WithoutAnExpiryACrashLocksEverybodyOut(t *testing.T) {
	at, leases := newLeases()
	_, err := leases.TryAcquireOrRenew(t.Context(), role, "A", 10*365*24*time.Hour)
	require.NoError(t, err) // and crashes

	at(365 * 24 * time.Hour)
	_, err = leases.TryAcquireOrRenew(t.Context(), role, "B", ttl)
	require.ErrorIs(t, err, relay.ErrNotAcquired, "A has been gone for a year, and nobody can tell")
}

// A holder counts by its own clock, the lock service by another. How fast the
// two run matters, and nothing else about them: not what time they show.
func TestLease_HolderStopsInTimeUnlessItsClockIsSlowerThanTheMarginAllows(t *testing.T) {
	require.False(t, trustsALapsedLease(t, 1), "trusted for 27 s of 30")
	require.False(t, trustsALapsedLease(t, 1.1), "30 s of the service are 27.3 s of the holder: within the margin of 3 s")
	require.True(t, trustsALapsedLease(t, 1.25), "30 s of the service are 24 s of the holder, who counts on three more")
}

// trustsALapsedLease tells whether a holder that is cut off from the lock
// service still trusts its term when the lease has lapsed. The service's clock
// runs at so many times the speed of the holder's, and a day ahead of it.
func trustsALapsedLease(t *testing.T, speed float64) (trusts bool) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		leases := memory.NewLeaseStore(func() time.Time {
			return start.Add(24*time.Hour + time.Duration(speed*float64(time.Since(start))))
		})
		elector, err := relay.NewLeaseElector(&firstAnswerOnly{LeaseStore: leases}, relay.LeaseElectorConfig{Owner: "A"})
		require.NoError(t, err)

		ctx, stop := context.WithCancel(t.Context())
		err = elector.Run(ctx, role, func(_ context.Context, term relay.Term) error {
			defer stop()
			for err := error(nil); err == nil; _, err = leases.Current(t.Context(), role) {
				time.Sleep(100 * time.Millisecond)
			}
			trusts = term.Valid()
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
	})
	return trusts
}

// firstAnswerOnly is a link to the lock service that is cut after the grant.
type firstAnswerOnly struct {
	relay.LeaseStore
	cut atomic.Bool
}

func (f *firstAnswerOnly) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	if f.cut.Swap(true) {
		<-ctx.Done()
		return relay.Lease{}, ctx.Err()
	}
	return f.LeaseStore.TryAcquireOrRenew(ctx, role, owner, ttl)
}
