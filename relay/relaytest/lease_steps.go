package relaytest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

func (s LeaseStoreSubject) needsExact(tr *trial) {
	if !s.Exact {
		tr.skip("this store's clock goes by itself")
	}
}

func (s LeaseStoreSubject) needsAdvance(tr *trial) {
	if s.AdvanceToken == nil {
		tr.skip("this adapter has no AdvanceToken")
	}
}

func (s LeaseStoreSubject) needsWaiter(tr *trial) relay.ReleaseWaiter {
	w, ok := s.A.(relay.ReleaseWaiter)
	if !ok {
		tr.skip("this adapter is no ReleaseWaiter")
	}
	return w
}

// either returns A or B, by turns.
func (s LeaseStoreSubject) either(i int) relay.LeaseStore {
	if i%2 == 0 {
		return s.A
	}
	return s.B
}

// lapse outlasts a lease that was granted for short. The half is for a backend
// whose clock does not run at the pace of this one.
func (s LeaseStoreSubject) lapse() { s.Elapse(short + short/2) }

// grant takes or renews the role for long; it must be answered with the token
// want, because of why.
func (tr *trial) grant(s relay.LeaseStore, owner string, want relay.Token, why string) relay.Lease {
	return tr.grantFor(s, owner, long, want, why)
}

// grantShort takes a role that was never granted for short.
func (tr *trial) grantShort(s relay.LeaseStore, owner string) relay.Lease {
	return tr.grantFor(s, owner, short, 1, "the first token of a role is 1")
}

func (tr *trial) grantFor(s relay.LeaseStore, owner string, ttl time.Duration, want relay.Token, why string) relay.Lease {
	lease, err := s.TryAcquireOrRenew(tr.ctx, role, owner, ttl)
	switch {
	case err != nil:
		tr.fail("TryAcquireOrRenew by %.40q: %v; want token %d: %s", owner, err, want, why)
	case lease.Token != want:
		tr.fail("TryAcquireOrRenew by %.40q answered with token %d, want %d: %s", owner, lease.Token, want, why)
	case lease.Role != role || lease.Owner != owner:
		tr.fail("role %q granted to %q as %s: a lease names both", role, owner, text(lease))
	}
	return lease
}

// held tries the role while by is live.
func (tr *trial) held(s relay.LeaseStore, owner string, by relay.Lease) {
	lease, err := s.TryAcquireOrRenew(tr.ctx, role, owner, long)
	var held *relay.HeldError
	switch {
	case err == nil:
		tr.fail("role granted to %.40q with token %d while %.40q holds it with token %d: one at a time",
			owner, lease.Token, by.Owner, by.Token)
	case !errors.As(err, &held) || !errors.Is(err, relay.ErrNotAcquired):
		tr.fail("TryAcquireOrRenew of a held role: %v; want a *HeldError, which matches ErrNotAcquired", err)
	case !same(held.Lease, by):
		tr.fail("refused in favour of %s; want the holder's lease: %s", text(held.Lease), text(by))
	case lease != relay.Lease{}:
		tr.fail("refused with a lease, %s; want the zero Lease", text(lease))
	}
}

// current fails unless the live lease is want.
func (tr *trial) current(s relay.LeaseStore, want relay.Lease) {
	got, err := s.Current(tr.ctx, want.Role)
	if err != nil || !same(got, want) {
		tr.fail("Current: %s; want the live lease, unchanged: %s", answer(got, err), text(want))
	}
}

// free fails if a lease of the role is live, in spite of why.
func (tr *trial) free(s relay.LeaseStore, why string) {
	lease, err := s.Current(tr.ctx, role)
	if !errors.Is(err, relay.ErrNotHeld) {
		tr.fail("Current: %s; want an error that matches ErrNotHeld: %s", answer(lease, err), why)
	}
}

// release releases a live lease.
func (tr *trial) release(s relay.LeaseStore, lease relay.Lease) {
	if err := s.Release(tr.ctx, lease); err != nil {
		tr.fail("Release by the live holder: %v; want nil", err)
	}
}

// notHeld fails unless a Release was refused, because of why.
func (tr *trial) notHeld(err error, why string) {
	if !errors.Is(err, relay.ErrNotHeld) {
		tr.fail("Release: %v; want an error that matches ErrNotHeld: %s", err, why)
	}
}

func (tr *trial) advance(s LeaseStoreSubject, atLeast relay.Token) {
	if err := s.AdvanceToken(tr.ctx, role, atLeast); err != nil {
		tr.fail("AdvanceToken(%d): %v; want nil", atLeast, err)
	}
}

// waitInVain waits briefly for the release of a role that stays held.
func (tr *trial) waitInVain(w relay.ReleaseWaiter) {
	ctx, cancel := tr.brief()
	defer cancel()
	woken := async(tr, func() error { return w.WaitReleased(ctx, role) })
	if err := await(tr, woken, "WaitReleased returns once its context has ended"); !errors.Is(err, context.DeadlineExceeded) {
		tr.fail("WaitReleased of a held role until its context ended: %v; want the error of the context", err)
	}
}

// same compares instants, not their time zones.
func same(a, b relay.Lease) bool {
	return a.Role == b.Role && a.Owner == b.Owner && a.Token == b.Token && a.ExpiresAt.Equal(b.ExpiresAt)
}

// answer is what a store returned, as a failure tells it.
func answer(lease relay.Lease, err error) string {
	if err != nil {
		return err.Error()
	}
	return text(lease)
}

func text(l relay.Lease) string {
	return fmt.Sprintf("token %d of %.40q for %.40q until %s", l.Token, l.Role, l.Owner, l.ExpiresAt.UTC().Format(time.RFC3339Nano))
}
