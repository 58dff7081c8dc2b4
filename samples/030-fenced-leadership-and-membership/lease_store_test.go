package leadership_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

const (
	role = "reports"
	ttl  = 30 * time.Second
)

func newLeases(*testing.T) (*ManualClock, *memory.LeaseStore) {
	clock := NewManualClock()
	return clock, memory.NewLeaseStore(clock.Now)
}

// acquire takes or renews the lease, and must succeed.
func acquire(t *testing.T, leases relay.LeaseStore, owner string) relay.Lease {
	t.Helper()
	lease, err := leases.TryAcquireOrRenew(t.Context(), role, owner, ttl)
	require.NoError(t, err)
	return lease
}

func TestLease_FirstHolderGetsTokenOne(t *testing.T) {
	clock, leases := newLeases(t)

	lease := acquire(t, leases, "node-a")

	require.Equal(t, relay.Lease{
		Role: role, Owner: "node-a", Token: 1, ExpiresAt: clock.Now().Add(ttl),
	}, lease, "the first grant of a role has token 1 and lives for its TTL")
}

func TestLease_RenewalKeepsTheTokenAndExtendsTheExpiry(t *testing.T) {
	clock, leases := newLeases(t)
	first := acquire(t, leases, "node-a")

	for range 10 { // five minutes of leadership on a lease of 30 s
		clock.Advance(29 * time.Second)
		renewed := acquire(t, leases, "node-a")
		require.Equal(t, first.Token, renewed.Token, "a renewal is the same term, so it keeps the token")
		require.Equal(t, clock.Now().Add(ttl), renewed.ExpiresAt, "a renewal lives for a whole TTL from now")
	}
}

func TestLease_SecondOwnerIsRefusedAndToldWhoHoldsIt(t *testing.T) {
	clock, leases := newLeases(t)
	held := acquire(t, leases, "node-a")
	clock.Advance(ttl - 1)

	refused, err := leases.TryAcquireOrRenew(t.Context(), role, "node-b", ttl)

	require.ErrorIs(t, err, relay.ErrNotAcquired, "a live lease has one owner")
	require.Zero(t, refused, "a refusal grants nothing")
	var heldBy *relay.HeldError
	require.ErrorAs(t, err, &heldBy)
	require.Equal(t, held, heldBy.Lease, "the refusal tells who holds it and until when")

	current, err := leases.Current(t.Context(), role)
	require.NoError(t, err)
	require.Equal(t, held, current, "and changes nothing")
}

func TestLease_TakeoverAfterTheTTLHasAHigherToken(t *testing.T) {
	clock, leases := newLeases(t)
	a := acquire(t, leases, "node-a") // and is never heard of again

	clock.Advance(ttl) // a lease ends at its expiry, not after it
	b := acquire(t, leases, "node-b")

	require.Equal(t, a.Token+1, b.Token, "a change of owner raises the token: that is what fences node-a out")
}

func TestLease_LapsedLeaseIsNotRenewedByItsOwner(t *testing.T) {
	clock, leases := newLeases(t)
	before := acquire(t, leases, "node-a")

	clock.Advance(ttl)
	after := acquire(t, leases, "node-a")

	require.Equal(t, before.Token+1, after.Token,
		"nobody knows what happened in the gap, so the same owner begins a new term too")
}

func TestLease_ReleaseHandsOverAtOnce(t *testing.T) {
	_, leases := newLeases(t)
	a := acquire(t, leases, "node-a")

	require.NoError(t, leases.Release(t.Context(), a))
	_, err := leases.Current(t.Context(), role)
	require.ErrorIs(t, err, relay.ErrNotHeld, "a released lease is nobody's")

	b := acquire(t, leases, "node-b")
	require.Equal(t, a.Token+1, b.Token, "no clock has moved: the next owner need not wait for the TTL")
}

func TestLease_OnlyItsHolderReleasesIt(t *testing.T) {
	clock, leases := newLeases(t)
	old := acquire(t, leases, "node-a")
	clock.Advance(ttl)
	current := acquire(t, leases, "node-a") // the same owner, in its next term

	stranger := current
	stranger.Owner = "node-b"
	require.ErrorIs(t, leases.Release(t.Context(), stranger), relay.ErrNotHeld, "an owner releases its own lease only")
	require.ErrorIs(t, leases.Release(t.Context(), old), relay.ErrNotHeld, "a release that comes late must not end the next term")

	held, err := leases.Current(t.Context(), role)
	require.NoError(t, err)
	require.Equal(t, current, held)
}

// recordedExpiry is a lease as a file or a cache entry might keep it: the owner
// and an expiry, which each node writes and compares by a clock of its own.
type recordedExpiry struct {
	owner     string
	expiresAt time.Time
}

func (r *recordedExpiry) take(owner string, now time.Time) (granted bool) {
	if r.owner != owner && now.Before(r.expiresAt) {
		return false
	}
	r.owner, r.expiresAt = owner, now.Add(ttl)
	return true
}

func TestLease_ExpiryIsForTheStoresClockToJudge(t *testing.T) {
	// History one: each node judges, and two nodes' clocks are a minute off.
	clock := NewManualClock()
	ahead := func() time.Time { return clock.Now().Add(time.Minute) }
	behind := func() time.Time { return clock.Now().Add(-time.Minute) }
	var early, late recordedExpiry
	require.True(t, early.take("node-a", clock.Now()))
	require.True(t, early.take("node-b", ahead()), "a lease with all its 30 s to go is taken away: two nodes hold it")
	require.True(t, late.take("node-a", clock.Now()))
	clock.Advance(ttl)
	require.False(t, late.take("node-c", behind()), "a lease that has lapsed is nobody's for a minute more")

	// History two, its twin: the call carries no time, so no node's clock counts.
	clock, leases := newLeases(t)
	acquire(t, leases, "node-a")
	_, err := leases.TryAcquireOrRenew(t.Context(), role, "node-b", ttl)
	require.ErrorIs(t, err, relay.ErrNotAcquired)
	clock.Advance(ttl)
	acquire(t, leases, "node-c")
}

// Storage is a resource that cooperates: the check of the token and the write
// are one step, under one mutex.
type Storage struct {
	mu    sync.Mutex // guards what follows
	fence relay.Fence
	value string
}

// Write stores value unless a later leader has written.
func (s *Storage) Write(token relay.Token, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fence.Admit(token); err != nil {
		return err
	}
	s.value = value
	return nil
}

// WriteUnfenced stores value, whoever asks.
func (s *Storage) WriteUnfenced(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = value
}

// Value returns what is stored.
func (s *Storage) Value() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

func TestLease_StaleHolderIsFenced(t *testing.T) {
	clock, leases := newLeases(t)
	storage := &Storage{}
	a := acquire(t, leases, "node-a")
	require.NoError(t, storage.Write(a.Token, "a's first"))
	require.NoError(t, storage.Write(a.Token, "a's second"), "a leader writes more than once with one token")

	clock.Advance(40 * time.Second) // node-a pauses, its lease lapses
	b := acquire(t, leases, "node-b")
	require.NoError(t, storage.Write(b.Token, "b's"))

	err := storage.Write(a.Token, "a's stale update") // node-a wakes up
	require.ErrorIs(t, err, relay.ErrStaleToken, "token 1 accepted after 2: a fence never goes back")
	require.Equal(t, "b's", storage.Value())
}

func TestLease_ExpiredHolderIsNotFencedBeforeTheNextOneWrites(t *testing.T) {
	clock, leases := newLeases(t)
	storage := &Storage{}
	a := acquire(t, leases, "node-a")
	clock.Advance(40 * time.Second)
	b := acquire(t, leases, "node-b")

	require.NoError(t, storage.Write(a.Token, "late, and accepted"),
		"the storage has heard of no higher token: it orders writes, it does not know about leases")

	require.NoError(t, storage.Write(b.Token, "b's first"))
	require.ErrorIs(t, storage.Write(a.Token, "later"), relay.ErrStaleToken, "the next leader's first write closes the gap")
}

func TestLease_TokensOfTwoRolesDoNotCompare(t *testing.T) {
	clock, leases := newLeases(t)
	acquire(t, leases, "node-a")
	clock.Advance(ttl)
	reports := acquire(t, leases, "node-b")
	mails, err := leases.TryAcquireOrRenew(t.Context(), "mails", "node-c", ttl)
	require.NoError(t, err)
	require.EqualValues(t, 1, mails.Token, "each role counts for itself")

	shared, own := &Storage{}, &Storage{}
	require.NoError(t, shared.Write(reports.Token, "a report"))
	require.ErrorIs(t, shared.Write(mails.Token, "a mail"), relay.ErrStaleToken, "who leads mails is taken for stale: a fence is for one role")
	require.NoError(t, own.Write(mails.Token, "a mail"))
}

func TestLease_TwoStoresGrantOneRoleTwice(t *testing.T) {
	_, here := newLeases(t)
	_, there := newLeases(t)

	a := acquire(t, here, "node-a")
	b := acquire(t, there, "node-b")

	require.Equal(t, a.Token, b.Token,
		"each process with a store of its own elects itself, and their tokens can't tell them apart: share one store")
}
