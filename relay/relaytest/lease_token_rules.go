package relaytest

import (
	"errors"

	"github.com/relay-samples/relay-go/relay"
)

var tokenRules = []rule[LeaseStoreSubject]{
	{"AdvanceToken makes the next grant carry one more", func(tr *trial, s LeaseStoreSubject) {
		s.needsAdvance(tr)
		tr.advance(s, 7)
		tr.free(s.A, "AdvanceToken grants nothing")
		tr.release(s.A, tr.grant(s.A, alice, 8, "AdvanceToken(7) on a role that was never granted makes the first token 8"))
		tr.advance(s, 20)
		tr.grant(s.B, bob, 21, "AdvanceToken(20) makes the next token 21")
	}},
	{"AdvanceToken never lowers a token", func(tr *trial, s LeaseStoreSubject) {
		s.needsAdvance(tr)
		tr.advance(s, 7)
		tr.advance(s, 3)
		lease := tr.grant(s.A, alice, 8, "the role has stood at 7: a store never goes back")
		tr.advance(s, 7)
		tr.advance(s, 1)
		tr.current(s.A, lease)
	}},
	{"AdvanceToken leaves the lease to its holder and raises the token of its next renewal", func(tr *trial, s LeaseStoreSubject) {
		s.needsAdvance(tr)
		lease := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		tr.advance(s, 7)
		raised, err := s.B.Current(tr.ctx, role)
		if err != nil {
			tr.fail("Current: %v; want alice's lease: AdvanceToken does not end it", err)
		}
		// A candidate whose grant was not answered takes its renewal for the
		// grant. It must not lead under a token that was used before.
		if raised.Token <= 7 {
			tr.fail("the live lease has token %d after AdvanceToken(7): want more than 7, which a resource may have seen", raised.Token)
		}
		tr.advance(s, 7) // again
		lease.Token, raised.Token = raised.Token, lease.Token
		tr.current(s.B, lease) // as it was, but for the token
		tr.held(s.B, bob, lease)
		tr.notHeld(s.A.Release(tr.ctx, raised), "the role stands at a higher token than this lease")
		renewed := tr.grant(s.A, alice, lease.Token, "the next renewal is answered with the raised token")
		tr.release(s.A, renewed)
		next := tr.grant(s.B, bob, lease.Token+1, "each grant carries the role's previous token plus one")
		tr.advance(s, next.Token)
		if now, err := s.A.Current(tr.ctx, role); err != nil || now.Token <= next.Token {
			tr.fail("Current: %s after AdvanceToken(%d): a token that was used elsewhere is not good for this lease either",
				answer(now, err), next.Token)
		}
	}},
	{"AdvanceToken by 0 does nothing and below 0 is refused", func(tr *trial, s LeaseStoreSubject) {
		s.needsAdvance(tr)
		tr.advance(s, 0)
		tr.free(s.A, "AdvanceToken(0) does nothing")
		lease := tr.grant(s.A, alice, 1, "AdvanceToken(0) does nothing")
		tr.advance(s, 0)
		for _, token := range []relay.Token{-1, -relay.MaxToken - 1} {
			if err := s.AdvanceToken(tr.ctx, role, token); !errors.Is(err, relay.ErrInvalidToken) {
				tr.fail("AdvanceToken(%d): %v; want an error that matches ErrInvalidToken", token, err)
			}
		}
		tr.current(s.A, lease)
		tr.refusesBadNames("AdvanceToken of a role", func(name string) error { return s.AdvanceToken(tr.ctx, name, 1) })
	}},
	{"after the last token a role is not granted again", func(tr *trial, s LeaseStoreSubject) {
		s.needsAdvance(tr)
		tr.advance(s, relay.MaxToken-1)
		tr.grant(s.A, alice, relay.MaxToken, "MaxToken is the last token that is granted")
		last := tr.grant(s.A, alice, relay.MaxToken, "a renewal by the live holder keeps its token, the last one too")
		tr.held(s.B, bob, last)
		tr.release(s.A, last)
		for _, owner := range []string{alice, bob} {
			_, err := s.B.TryAcquireOrRenew(tr.ctx, role, owner, long)
			switch {
			case !errors.Is(err, relay.ErrTokensExhausted):
				tr.fail("grant of a role at MaxToken: %v; want an error that matches ErrTokensExhausted", err)
			case errors.Is(err, relay.ErrNotAcquired):
				tr.fail("grant of a role at MaxToken: %v; it matches ErrNotAcquired, but to wait for it is in vain", err)
			}
			tr.free(s.A, "a role at MaxToken is not granted")
		}
		if lease, err := s.A.TryAcquireOrRenew(tr.ctx, "another role", alice, long); err != nil || lease.Token != 1 {
			tr.fail("first grant of another role: %s; want token 1: each role counts its own", answer(lease, err))
		}
	}},
}
