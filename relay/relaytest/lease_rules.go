package relaytest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

const (
	role  = "role" // the role that most rules are about
	alice = "alice"
	bob   = "bob"

	// long is the TTL of a lease that must not lapse while a rule runs, however
	// slow the machine is. short is that of one that must: rules ask nothing of
	// it before it has lapsed.
	long  = time.Hour
	short = 40 * time.Millisecond

	// second is the TTL where time stands still unless a rule moves it.
	second = time.Second
)

var leaseStoreRules = slices.Concat(grantRules, releaseRules, leaseInputRules, contentionRules, tokenRules, waiterRules, leaseCloseRules)

var grantRules = []rule[LeaseStoreSubject]{
	{"the first token of a role is 1", func(tr *trial, s LeaseStoreSubject) {
		lease := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		tr.current(s.B, lease)
		other, err := s.A.TryAcquireOrRenew(tr.ctx, "another role", alice, long)
		if err != nil || other.Token != 1 {
			tr.fail("first grant of another role: %s; want token 1: each role counts its own", answer(other, err))
		}
	}},
	{"a renewal keeps the token and extends the lease", func(tr *trial, s LeaseStoreSubject) {
		first := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		for range 3 {
			renewed, err := s.A.TryAcquireOrRenew(tr.ctx, role, alice, 2*long)
			switch {
			case err != nil:
				tr.fail("renewal by the live holder: %v; want the lease", err)
			case renewed.Token != first.Token:
				tr.fail("renewal answered with token %d, granted with %d: a renewal by the live holder keeps its token",
					renewed.Token, first.Token)
			case !renewed.ExpiresAt.After(first.ExpiresAt.Add(long / 2)):
				tr.fail("renewed for %v more, the lease expires at %v, before at %v: a renewal extends it",
					long, renewed.ExpiresAt, first.ExpiresAt)
			}
			tr.current(s.B, renewed)
		}
	}},
	{"the TTL of a renewal counts from the renewal", func(tr *trial, s LeaseStoreSubject) {
		tr.grant(s.A, alice, 1, "the first token of a role is 1")
		if _, err := s.A.TryAcquireOrRenew(tr.ctx, role, alice, short); err != nil {
			tr.fail("renewal by the live holder: %v; want the lease", err)
		}
		s.lapse()
		tr.free(s.A, "the TTL of its last renewal has passed")
	}},
	{"a refusal tells who holds the role", func(tr *trial, s LeaseStoreSubject) {
		lease := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		tr.held(s.B, bob, lease)
		tr.held(s.A, bob, lease)
		tr.current(s.A, lease)
	}},
	{"after a lapse the next owner gets the next token", func(tr *trial, s LeaseStoreSubject) {
		tr.grantShort(s.A, alice)
		s.lapse()
		tr.free(s.A, "its TTL has passed")
		lease := tr.grant(s.B, bob, 2, "each grant carries the role's previous token plus one")
		tr.held(s.A, alice, lease)
	}},
	{"after a lapse the same owner gets the next token", func(tr *trial, s LeaseStoreSubject) {
		tr.grantShort(s.A, alice)
		s.lapse()
		lease := tr.grant(s.A, alice, 2, "a lapsed lease is never renewed, not even by its owner")
		tr.current(s.A, lease)
	}},
	{"roles are independent", func(tr *trial, s LeaseStoreSubject) {
		first := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		for _, r := range oddNames {
			lease, err := s.A.TryAcquireOrRenew(tr.ctx, r, bob, long)
			if err != nil || lease.Token != 1 || lease.Role != r {
				tr.fail("first grant of role %.40q: %s; want token 1 for it: no role that differs in a byte is the same role", r, answer(lease, err))
			}
		}
		tr.current(s.A, first)
		tr.release(s.A, first)
		for _, r := range oddNames {
			if lease, err := s.B.Current(tr.ctx, r); err != nil || lease.Owner != bob {
				tr.fail("Current(%.40q) after another role was released: %s; want its lease", r, answer(lease, err))
			}
		}
	}},
	{"owners are compared byte by byte", func(tr *trial, s LeaseStoreSubject) {
		for i, owner := range oddNames { // those that look alike stand together
			lease, err := s.A.TryAcquireOrRenew(tr.ctx, role, owner, long)
			if err != nil || lease.Owner != owner {
				tr.fail("TryAcquireOrRenew by owner %.40q: %s; want a lease in this name", owner, answer(lease, err))
			}
			tr.held(s.B, oddNames[(i+1)%len(oddNames)], lease)
			tr.release(s.B, lease)
		}
	}},
	{"a lease is live until the very instant of its expiry", func(tr *trial, s LeaseStoreSubject) {
		s.needsExact(tr)
		lease := tr.grantFor(s.A, alice, second, 1, "the first token of a role is 1")
		s.Elapse(second - 1)
		tr.current(s.A, lease)
		tr.held(s.A, bob, lease)
		s.Elapse(1)
		tr.free(s.A, "at ExpiresAt it is over")
		tr.notHeld(s.A.Release(tr.ctx, lease), "at ExpiresAt it is over")
		tr.grant(s.A, bob, 2, "at ExpiresAt it is over, and each grant carries the role's previous token plus one")
	}},
	{"a lease can be renewed until the very instant of its expiry", func(tr *trial, s LeaseStoreSubject) {
		s.needsExact(tr)
		lease := tr.grantFor(s.A, alice, second, 1, "the first token of a role is 1")
		s.Elapse(second - 1)
		renewed := tr.grantFor(s.A, alice, second, 1, "it is live until ExpiresAt, and a renewal by the live holder keeps its token")
		if want := lease.ExpiresAt.Add(second - 1); !renewed.ExpiresAt.Equal(want) {
			tr.fail("renewed for %v the lease expires at %v; want %v: the TTL counts from the renewal", second, renewed.ExpiresAt, want)
		}
		s.Elapse(second)
		tr.grant(s.A, alice, 2, "at ExpiresAt it is over, and a lapsed lease is never renewed")
	}},
}

var releaseRules = []rule[LeaseStoreSubject]{
	{"a released role is free at once and its next token is higher", func(tr *trial, s LeaseStoreSubject) {
		lease := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		tr.release(s.B, lease)
		tr.free(s.A, "it was released")
		lease = tr.grant(s.B, bob, 2, "each grant carries the role's previous token plus one, also after a release")
		tr.release(s.B, lease)
		lease = tr.grant(s.B, bob, 3, "each grant carries the role's previous token plus one, to the same owner too")
		tr.current(s.A, lease)
	}},
	{"a lease is released by its role, owner and token, not by its expiry", func(tr *trial, s LeaseStoreSubject) {
		before := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		if _, err := s.A.TryAcquireOrRenew(tr.ctx, role, alice, 2*long); err != nil {
			tr.fail("renewal by the live holder: %v; want the lease", err)
		}
		tr.release(s.A, before)
		tr.free(s.A, "it was released, with the lease as it stood before a renewal")
	}},
	{"a lease is released by its holder only", func(tr *trial, s LeaseStoreSubject) {
		old := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		tr.release(s.A, old)
		lease := tr.grant(s.A, alice, 2, "each grant carries the role's previous token plus one")

		byOther, noToken, higher := lease, lease, lease
		byOther.Owner = bob
		noToken.Token = 0
		higher.Token++
		wrong := map[string]relay.Lease{
			"another owner": byOther, "an old token": old, "no token": noToken, "a token not yet granted": higher,
		}
		for who, l := range wrong {
			tr.notHeld(s.B.Release(tr.ctx, l), "Release with "+who+" is none by the holder")
			tr.current(s.A, lease)
		}
		elsewhere := lease
		elsewhere.Role = "another role"
		tr.notHeld(s.B.Release(tr.ctx, elsewhere), "nobody holds that role")
		tr.current(s.A, lease)
	}},
	{"a lease is released once", func(tr *trial, s LeaseStoreSubject) {
		lease := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		tr.release(s.A, lease)
		tr.notHeld(s.A.Release(tr.ctx, lease), "it was released before")
		next := tr.grant(s.B, bob, 2, "each grant carries the role's previous token plus one")
		tr.notHeld(s.A.Release(tr.ctx, lease), "it was released before, and another holds the role now")
		tr.current(s.A, next)
	}},
	{"a lapsed lease can't be released", func(tr *trial, s LeaseStoreSubject) {
		lease := tr.grantShort(s.A, alice)
		s.lapse()
		tr.notHeld(s.A.Release(tr.ctx, lease), "it has lapsed")
		tr.grant(s.A, alice, 2, "each grant carries the role's previous token plus one")
		tr.notHeld(s.A.Release(tr.ctx, lease), "it has lapsed; a later lease of the same owner has another token")
	}},
	{"nobody holds a role that was never granted", func(tr *trial, s LeaseStoreSubject) {
		tr.free(s.A, "it was never granted")
		tr.notHeld(s.A.Release(tr.ctx, relay.Lease{Role: role, Owner: alice, Token: 1}), "it was never granted")
		tr.grant(s.A, alice, 1, "asking about a role and a release that changes nothing grant nothing")
	}},
}

var leaseInputRules = []rule[LeaseStoreSubject]{
	{"roles and owners that not every adapter can take are refused", func(tr *trial, s LeaseStoreSubject) {
		tr.refusesBadNames("TryAcquireOrRenew of a role", func(name string) error {
			_, err := s.A.TryAcquireOrRenew(tr.ctx, name, alice, long)
			return err
		})
		tr.refusesBadNames("TryAcquireOrRenew by an owner", func(name string) error {
			_, err := s.A.TryAcquireOrRenew(tr.ctx, role, name, long)
			return err
		})
		tr.refusesBadNames("Release of a role", func(name string) error {
			return s.A.Release(tr.ctx, relay.Lease{Role: name, Owner: alice, Token: 1})
		})
		tr.refusesBadNames("Release by an owner", func(name string) error {
			return s.A.Release(tr.ctx, relay.Lease{Role: role, Owner: name, Token: 1})
		})
		tr.refusesBadNames("Current of a role", func(name string) error {
			_, err := s.A.Current(tr.ctx, name)
			return err
		})
	}},
	{"a TTL that not every adapter can take is refused", func(tr *trial, s LeaseStoreSubject) {
		const tenYears = 87_600 * time.Hour
		for _, ttl := range []time.Duration{0, -1, -long, time.Millisecond - 1, tenYears + 1, 1<<63 - 1} {
			if _, err := s.A.TryAcquireOrRenew(tr.ctx, role, alice, ttl); !errors.Is(err, relay.ErrInvalidTTL) {
				tr.fail("TryAcquireOrRenew for %v: %v; want an error that matches ErrInvalidTTL", ttl, err)
			}
		}
		tr.free(s.A, "only refused TTLs were tried")
		for _, ttl := range []time.Duration{tenYears, time.Millisecond} {
			if _, err := s.A.TryAcquireOrRenew(tr.ctx, role, alice, ttl); err != nil {
				tr.fail("TryAcquireOrRenew for %v: %v; want the lease", ttl, err)
			}
		}
	}},
	{"a context that has ended changes nothing", func(tr *trial, s LeaseStoreSubject) {
		ended := tr.ended()
		want := func(what string, err error) {
			if !errors.Is(err, context.Canceled) {
				tr.fail("%s with a context that had been cancelled: %v; want its error", what, err)
			}
		}
		_, err := s.A.TryAcquireOrRenew(ended, role, alice, long)
		want("TryAcquireOrRenew", err)
		tr.free(s.B, "a context that has ended takes nothing")

		lease := tr.grant(s.A, alice, 1, "a context that has ended takes nothing, and no token")
		_, err = s.A.TryAcquireOrRenew(ended, role, alice, 2*long)
		want("a renewal", err)
		want("Release", s.A.Release(ended, lease))
		_, err = s.A.Current(ended, role)
		want("Current", err)
		if s.AdvanceToken != nil {
			want("AdvanceToken", s.AdvanceToken(ended, role, 9))
		}
		tr.current(s.B, lease)
	}},
}
