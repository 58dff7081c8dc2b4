package relaytest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

func TestCheckLeaseStore_PassesAnAdapterThatKeepsThePromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, relaytest.CheckLeaseStore(t, func(testing.TB) relaytest.LeaseStoreSubject {
			return newLeaseSubject(func(*world, *store) {})
		}))
	})
}

func TestCheckLeaseStore_RejectsEachBrokenAdapterByTheRuleItBreaks(t *testing.T) {
	type breakIt = func(*world, *store)
	var adapters []broken[relaytest.LeaseStoreSubject]
	breaks := func(rule, adapter string, f breakIt) {
		adapters = append(adapters, broken[relaytest.LeaseStoreSubject]{adapter, rule, func(testing.TB) relaytest.LeaseStoreSubject {
			return newLeaseSubject(f)
		}})
	}

	const first = "the first token of a role is 1"
	breaks(first, "tokens that begin at 100", answering(func(w *world, q question) (relay.Lease, error) {
		if q.in == never {
			_ = w.AdvanceToken(context.Background(), q.role, 99)
		}
		return q.ask(q.ttl)
	}))
	breaks(first, "one count for all roles", answering(func(w *world, q question) (relay.Lease, error) {
		if q.in == never {
			w.granted.Range(func(_, r any) bool {
				_ = w.AdvanceToken(context.Background(), q.role, r.(record).lease.Token)
				return true
			})
		}
		return q.ask(q.ttl)
	}))

	const renews = "a renewal keeps the token and extends the lease"
	breaks(renews, "a renewal with a new token", raising(func(q question) bool { return q.in == mine }))
	breaks(renews, "a renewal that extends nothing", answering(func(_ *world, q question) (relay.Lease, error) {
		if q.in == mine {
			return q.last, nil
		}
		return q.ask(q.ttl)
	}))
	breaks(renews, "a renewal that the store forgets", answering(func(_ *world, q question) (relay.Lease, error) {
		if q.in == mine {
			lease := q.last
			lease.ExpiresAt = time.Now().Add(q.ttl)
			return lease, nil
		}
		return q.ask(q.ttl)
	}))
	breaks("the TTL of a renewal counts from the renewal", "a TTL that is added to what is left", answering(
		func(_ *world, q question) (relay.Lease, error) {
			if q.in == mine {
				return q.ask(q.ttl + time.Until(q.last.ExpiresAt))
			}
			return q.ask(q.ttl)
		}))

	const tellsHolder = "a refusal tells who holds the role"
	breaks(tellsHolder, "a refusal without the holder", refusing(func(*relay.HeldError) (relay.Lease, error) {
		return relay.Lease{}, relay.ErrNotAcquired
	}))
	breaks(tellsHolder, "a refusal with the holder's token only", refusing(func(held *relay.HeldError) (relay.Lease, error) {
		return relay.Lease{}, &relay.HeldError{Lease: relay.Lease{Token: held.Lease.Token}}
	}))
	breaks(tellsHolder, "a refusal that returns a lease", refusing(func(held *relay.HeldError) (relay.Lease, error) {
		return held.Lease, held
	}))

	const takeover = "after a lapse the next owner gets the next token"
	breaks(takeover, "a new owner with the old token", handingOutTheOldToken(func(q question) bool {
		return q.in == lapsed && q.last.Owner != q.owner
	}))
	breaks(takeover, "a lapsed lease that is kept for its owner", answering(func(_ *world, q question) (relay.Lease, error) {
		if q.in == lapsed && q.last.Owner != q.owner {
			return relay.Lease{}, &relay.HeldError{Lease: q.last}
		}
		return q.ask(q.ttl)
	}))
	breaks("after a lapse the same owner gets the next token", "a lapsed lease that is renewed", handingOutTheOldToken(
		func(q question) bool {
			return q.in == lapsed && q.last.Owner == q.owner
		}))

	folding := func(fold func(role, owner string) (string, string)) breakIt {
		return func(_ *world, s *store) {
			try := s.try
			s.try = func(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
				foldedRole, foldedOwner := fold(role, owner)
				lease, err := try(ctx, foldedRole, foldedOwner, ttl)
				if err == nil {
					lease.Role, lease.Owner = role, owner
				}
				return lease, err
			}
		}
	}
	breaks("roles are independent", "roles in lower case", folding(func(role, owner string) (string, string) {
		return strings.ToLower(role), owner
	}))
	breaks("owners are compared byte by byte", "owners in lower case", folding(func(role, owner string) (string, string) {
		return role, strings.ToLower(owner)
	}))

	breaks("owners are compared byte by byte", "a lease in another name", answering(func(_ *world, q question) (relay.Lease, error) {
		lease, err := q.ask(q.ttl)
		lease.Owner = strings.ToLower(lease.Owner)
		return lease, err
	}))

	const instant = "a lease is live until the very instant of its expiry"
	breaks(instant, "a lease that is live at the instant of its expiry", lastingLonger(1))
	breaks(instant, "a lease that lapses before the instant of its expiry", lastingLonger(-1))
	breaks("a lease can be renewed until the very instant of its expiry", "a renewal that comes too late before the expiry", raising(func(q question) bool {
		return q.in == mine && time.Until(q.last.ExpiresAt) < time.Millisecond
	}))

	const frees = "a released role is free at once and its next token is higher"
	breaks(frees, "Release does nothing", releasingLease(
		func(context.Context, *world, relay.Lease, relay.Lease, releaseFunc) error {
			return nil
		}))
	breaks(frees, "Release deletes the row and tokens begin again", answering(
		func(_ *world, q question) (relay.Lease, error) {
			lease, err := q.ask(q.ttl)
			if q.in == released {
				return withToken(lease, err, func(relay.Token) relay.Token { return 1 })
			}
			return lease, err
		}))
	breaks(frees, "a role that its owner takes back with the old token", handingOutTheOldToken(func(q question) bool {
		return q.in == released && q.last.Owner == q.owner
	}))
	breaks("a lease is released by its role, owner and token, not by its expiry", "Release that compares the expiry too",
		releasingLease(func(ctx context.Context, _ *world, now, lease relay.Lease, good releaseFunc) error {
			if !now.ExpiresAt.Equal(lease.ExpiresAt) {
				return relay.ErrNotHeld
			}
			return good(ctx, lease)
		}))

	const byHolder = "a lease is released by its holder only"
	breaks(byHolder, "Release by anybody", releasingLease(
		func(ctx context.Context, _ *world, now, lease relay.Lease, good releaseFunc) error {
			lease.Owner = now.Owner
			return good(ctx, lease)
		}))
	breaks(byHolder, "Release by any token", releasingLease(
		func(ctx context.Context, _ *world, now, lease relay.Lease, good releaseFunc) error {
			lease.Token = now.Token
			return good(ctx, lease)
		}))
	breaks(byHolder, "Release by a token that is high enough", releasingLease(
		func(ctx context.Context, _ *world, now, lease relay.Lease, good releaseFunc) error {
			lease.Token = min(lease.Token, now.Token)
			return good(ctx, lease)
		}))
	breaks(byHolder, "a refused Release that ends the lease", releasingLease(
		func(ctx context.Context, w *world, now, lease relay.Lease, good releaseFunc) error {
			err := good(ctx, lease)
			if errors.Is(err, relay.ErrNotHeld) {
				_ = w.Release(ctx, now)
			}
			return err
		}))
	breaks("a lease is released once", "a second Release that is silent", releasingLease(
		func(ctx context.Context, w *world, _, lease relay.Lease, good releaseFunc) error {
			if last, _ := w.last(lease.Role); last.released && last.lease == lease {
				return nil
			}
			return good(ctx, lease)
		}))
	breaks("a lapsed lease can't be released", "a lapsed lease that can", releasingLease(
		func(ctx context.Context, w *world, now, lease relay.Lease, good releaseFunc) error {
			if last, _ := w.last(lease.Role); !last.released && last.lease == lease && now.Token == 0 {
				return nil
			}
			return good(ctx, lease)
		}))
	breaks("nobody holds a role that was never granted", "a lease of nobody", func(w *world, s *store) {
		current := s.current
		s.current = func(ctx context.Context, role string) (relay.Lease, error) {
			if _, known := w.last(role); !known && relay.ValidateName(role) == nil {
				return relay.Lease{Role: role}, nil
			}
			return current(ctx, role)
		}
	})

	const checked = "roles and owners that not every adapter can take are refused"
	breaks(checked, "roles that are mended", folding(func(role, owner string) (string, string) { return mend(role), owner }))
	breaks(checked, "owners that are mended", folding(func(role, owner string) (string, string) { return role, mend(owner) }))
	breaks(checked, "Release of a bad role that nobody can hold", releasingLease(
		func(ctx context.Context, _ *world, _, lease relay.Lease, good releaseFunc) error {
			lease.Role = mend(lease.Role)
			return good(ctx, lease)
		}))
	breaks(checked, "Release by a bad owner that can't be the holder", releasingLease(
		func(ctx context.Context, _ *world, _, lease relay.Lease, good releaseFunc) error {
			lease.Owner = mend(lease.Owner)
			return good(ctx, lease)
		}))
	breaks(checked, "Current of a bad role that nobody can hold", func(_ *world, s *store) {
		current := s.current
		s.current = func(ctx context.Context, role string) (relay.Lease, error) { return current(ctx, mend(role)) }
	})

	const checkedTTL = "a TTL that not every adapter can take is refused"
	breaks(checkedTTL, "TTLs that are mended", answering(func(_ *world, q question) (relay.Lease, error) {
		return q.ask(min(max(q.ttl, time.Millisecond), 87_600*time.Hour))
	}))
	breaks(checkedTTL, "TTLs of a second at least", answering(func(_ *world, q question) (relay.Lease, error) {
		if q.ttl == time.Millisecond {
			return relay.Lease{}, relay.ErrInvalidTTL
		}
		return q.ask(q.ttl)
	}))

	const refusesEnded = "a context that has ended changes nothing"
	breaks(refusesEnded, "TryAcquireOrRenew that ignores its context", func(_ *world, s *store) {
		try := s.try
		s.try = func(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
			return try(context.WithoutCancel(ctx), role, owner, ttl)
		}
	})
	breaks(refusesEnded, "TryAcquireOrRenew that takes the role and reports its context", func(_ *world, s *store) {
		try := s.try
		s.try = func(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
			lease, err := try(context.WithoutCancel(ctx), role, owner, ttl)
			return lease, errors.Join(err, ctx.Err())
		}
	})
	breaks(refusesEnded, "Release that is detached from its context", releasingLease(
		func(ctx context.Context, _ *world, _, lease relay.Lease, good releaseFunc) error {
			return good(context.WithoutCancel(ctx), lease)
		}))
	breaks(refusesEnded, "AdvanceToken that ignores its context", advancing(
		func(ctx context.Context, _ *world, role string, atLeast relay.Token, good advanceFunc) error {
			return good(context.WithoutCancel(ctx), role, atLeast)
		}))

	const oneWins = "of many that try a free role one gets it"
	breaks(oneWins, "a look at the role and then a grant", answering(func(w *world, q question) (relay.Lease, error) {
		time.Sleep(time.Nanosecond) // in a bubble: until all others have looked
		lease, err := q.ask(q.ttl)
		var held *relay.HeldError
		if q.in == never && errors.As(err, &held) {
			_ = w.Release(context.Background(), held.Lease)
			return q.ask(q.ttl)
		}
		return lease, err
	}))
	breaks("tokens rise from grant to grant while owners take turns", "the fifteenth grant repeats a token", answering(
		func(_ *world, q question) (relay.Lease, error) {
			lease, err := q.ask(q.ttl)
			if lease.Token == 15 { // not by what it found: between the two others take their turn
				return withToken(lease, err, oneLess)
			}
			return lease, err
		}))
	breaks("a token has one owner, also where leases lapse under contention", "a new owner that gets the old token, later on",
		handingOutTheOldToken(func(q question) bool {
			return q.in == lapsed && q.last.Owner != q.owner && q.last.Token > 3
		}))

	breaks("a token has one owner, also where leases lapse under contention", "tokens that go back, later on",
		answering(func(_ *world, q question) (relay.Lease, error) {
			lease, err := q.ask(q.ttl)
			if q.in == lapsed && lease.Token > 3 {
				return withToken(lease, err, func(token relay.Token) relay.Token { return 1000 - token })
			}
			return lease, err
		}))

	breaks("AdvanceToken makes the next grant carry one more", "AdvanceToken that sets the next token", advancing(
		func(ctx context.Context, _ *world, role string, atLeast relay.Token, good advanceFunc) error {
			return good(ctx, role, min(atLeast, max(atLeast-1, 0)))
		}))
	breaks("AdvanceToken never lowers a token", "AdvanceToken that sets what it is told", func(w *world, s *store) {
		var told atomic.Int64
		advancing(func(ctx context.Context, _ *world, role string, atLeast relay.Token, good advanceFunc) error {
			told.Store(int64(atLeast))
			return good(ctx, role, atLeast)
		})(w, s)
		answering(func(_ *world, q question) (relay.Lease, error) {
			lease, err := q.ask(q.ttl)
			if q.in == never && told.Load() > 0 {
				return withToken(lease, err, func(relay.Token) relay.Token { return relay.Token(told.Load() + 1) })
			}
			return lease, err
		})(w, s)
	})

	const raises = "AdvanceToken leaves the lease to its holder and raises the token of its next renewal"
	breaks(raises, "AdvanceToken that ends the lease", advancing(
		func(ctx context.Context, w *world, role string, atLeast relay.Token, good advanceFunc) error {
			err := good(ctx, role, atLeast)
			if now, _ := w.Current(ctx, role); atLeast > 0 && err == nil {
				_ = w.Release(ctx, now)
			}
			return err
		}))
	breaks(raises, "AdvanceToken that spares a live lease", advancing(
		func(ctx context.Context, w *world, role string, atLeast relay.Token, good advanceFunc) error {
			if _, err := w.Current(ctx, role); err == nil && atLeast > 0 {
				return nil
			}
			return good(ctx, role, atLeast)
		}))
	breaks(raises, "AdvanceToken that gives a live lease a used token", advancing(
		func(ctx context.Context, w *world, role string, atLeast relay.Token, good advanceFunc) error {
			if _, err := w.Current(ctx, role); err == nil && atLeast > 0 {
				atLeast--
			}
			return good(ctx, role, atLeast)
		}))
	breaks(raises, "AdvanceToken that extends the lease", advancing(
		func(ctx context.Context, w *world, role string, atLeast relay.Token, good advanceFunc) error {
			if now, err := w.Current(ctx, role); err == nil {
				_, _ = w.TryAcquireOrRenew(ctx, role, now.Owner, 9*time.Hour)
			}
			return good(ctx, role, atLeast)
		}))

	const noStep = "AdvanceToken by 0 does nothing and below 0 is refused"
	breaks(noStep, "AdvanceToken that always goes a step", advancing(
		func(ctx context.Context, w *world, role string, atLeast relay.Token, good advanceFunc) error {
			last, _ := w.last(role)
			if atLeast == 0 {
				atLeast = last.lease.Token + 1
			}
			return good(ctx, role, atLeast)
		}))
	breaks(noStep, "AdvanceToken below 0 that is 0", advancing(
		func(ctx context.Context, _ *world, role string, atLeast relay.Token, good advanceFunc) error {
			return good(ctx, role, max(0, atLeast))
		}))

	const exhausts = "after the last token a role is not granted again"
	exhausted := func(answer func(w *world, q question) (relay.Lease, error)) breakIt {
		return answering(func(w *world, q question) (relay.Lease, error) {
			lease, err := q.ask(q.ttl)
			if errors.Is(err, relay.ErrTokensExhausted) {
				return answer(w, q)
			}
			return lease, err
		})
	}
	breaks(exhausts, "exhausted tokens that look like a held role", exhausted(func(*world, question) (relay.Lease, error) {
		return relay.Lease{}, errors.Join(relay.ErrTokensExhausted, relay.ErrNotAcquired)
	}))
	breaks(exhausts, "tokens that wrap around", exhausted(func(_ *world, q question) (relay.Lease, error) {
		return relay.Lease{Role: q.role, Owner: q.owner, Token: -relay.MaxToken - 1, ExpiresAt: time.Now().Add(q.ttl)}, nil
	}))
	breaks(exhausts, "a last token that can't be renewed", answering(func(_ *world, q question) (relay.Lease, error) {
		if q.in == mine && q.last.Token == relay.MaxToken {
			return relay.Lease{}, relay.ErrTokensExhausted
		}
		return q.ask(q.ttl)
	}))

	const freeAlready = "WaitReleased returns at once when no lease is live"
	breaks(freeAlready, "WaitReleased that waits for the next release always", func(w *world, s *store) {
		waiting(func(ctx context.Context, role string, good waitFunc) error {
			if _, err := w.Current(ctx, role); errors.Is(err, relay.ErrNotHeld) {
				<-ctx.Done()
			}
			return good(ctx, role)
		})(w, s)
	})
	const wakes = "WaitReleased returns when the lease is released"
	breaks(wakes, "a release that wakes nobody", waiting(func(ctx context.Context, role string, good waitFunc) error {
		looked, cancel := context.WithTimeout(ctx, time.Nanosecond)
		defer cancel()
		if err := good(looked, role); err == nil {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	breaks(wakes, "a release that wakes one of them", func(w *world, s *store) {
		var one sync.Mutex
		waiting(func(ctx context.Context, role string, good waitFunc) error {
			err := good(ctx, role)
			if err == nil && !one.TryLock() {
				<-ctx.Done()
				return ctx.Err()
			}
			return err
		})(w, s)
	})
	const endsWait = "WaitReleased ends with its context"
	breaks(endsWait, "WaitReleased that never waits", waiting(func(context.Context, string, waitFunc) error { return nil }))
	breaks(endsWait, "WaitReleased that takes the end of its context for a release", waiting(
		func(ctx context.Context, role string, good waitFunc) error {
			if err := good(ctx, role); ctx.Err() == nil {
				return err
			}
			return nil
		}))

	breaks(endsWait, "WaitReleased that goes on waiting", waiting(func(ctx context.Context, role string, good waitFunc) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// It comes back before the bubble ends, and after the rule gave up.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 35*time.Second)
		defer cancel()
		return good(end, role)
	}))

	const staysClosed = "after Close every call is ErrClosed and the leases stay"
	breaks(staysClosed, "Close does nothing", func(_ *world, s *store) {
		s.close = func(context.Context) error { return nil }
	})
	breaks(staysClosed, "a second Close that complains", func(_ *world, s *store) {
		closed, good := false, s.close
		s.close = func(ctx context.Context) error {
			if closed {
				return relay.ErrClosed
			}
			closed = true
			return good(ctx)
		}
	})
	breaks(staysClosed, "Close that releases the leases", func(w *world, s *store) {
		good := s.close
		s.close = func(ctx context.Context) error {
			w.granted.Range(func(_, r any) bool {
				_ = w.Release(ctx, r.(record).lease)
				return true
			})
			return good(ctx)
		}
	})
	breaks(staysClosed, "Close that forgets who waits", waiting(func(ctx context.Context, role string, good waitFunc) error {
		err := good(ctx, role)
		if errors.Is(err, relay.ErrClosed) && errors.Is(err, context.Canceled) {
			<-ctx.Done()
		}
		return err
	}))

	requireRejected(t, relaytest.CheckLeaseStore, hopelessStore, adapters)
}
