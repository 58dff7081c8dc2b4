package relaytest

import (
	"context"
	"errors"

	"github.com/relay-samples/relay-go/relay"
)

var waiterRules = []rule[LeaseStoreSubject]{
	{"WaitReleased returns at once when no lease is live", func(tr *trial, s LeaseStoreSubject) {
		w := s.needsWaiter(tr)
		wait := func(why string) {
			if err := w.WaitReleased(tr.ctx, role); err != nil {
				tr.fail("WaitReleased: %v; want nil at once: %s", err, why)
			}
		}
		wait("the role was never granted")
		lease := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		tr.release(s.A, lease)
		wait("the role was released")
		if _, err := s.A.TryAcquireOrRenew(tr.ctx, role, alice, short); err != nil {
			tr.fail("TryAcquireOrRenew of a released role: %v; want the lease", err)
		}
		s.lapse()
		wait("the lease has lapsed")
	}},
	{"WaitReleased returns when the lease is released", func(tr *trial, s LeaseStoreSubject) {
		w := s.needsWaiter(tr)
		lease := tr.grant(s.B, alice, 1, "the first token of a role is 1")
		woken := []<-chan error{
			async(tr, func() error { return w.WaitReleased(tr.ctx, role) }),
			async(tr, func() error { return w.WaitReleased(tr.ctx, role) }),
		}
		tr.waitInVain(w) // meanwhile the others wait
		tr.release(s.B, lease)
		for _, c := range woken {
			if err := await(tr, c, "WaitReleased returns after the release"); err != nil {
				tr.fail("WaitReleased after the release: %v; want nil", err)
			}
		}
	}},
	{"WaitReleased ends with its context", func(tr *trial, s LeaseStoreSubject) {
		w := s.needsWaiter(tr)
		if err := w.WaitReleased(tr.ended(), role); !errors.Is(err, context.Canceled) {
			tr.fail("WaitReleased with a context that had been cancelled: %v; want its error", err)
		}
		lease := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		tr.waitInVain(w)
		tr.current(s.A, lease)
		tr.refusesBadNames("WaitReleased of a role", func(name string) error { return w.WaitReleased(tr.ctx, name) })
	}},
}

var leaseCloseRules = []rule[LeaseStoreSubject]{
	{"after Close every call is ErrClosed and the leases stay", func(tr *trial, s LeaseStoreSubject) {
		if s.Close == nil {
			tr.skip("this adapter has no Close")
		}
		lease := tr.grant(s.A, alice, 1, "the first token of a role is 1")
		waiter, waits := s.A.(relay.ReleaseWaiter)
		var woken <-chan error
		if waits {
			woken = async(tr, func() error { return waiter.WaitReleased(tr.ctx, role) })
			tr.waitInVain(waiter) // meanwhile the other one waits
		}
		tr.close(s.Close)

		want := func(what string, err error) {
			if !errors.Is(err, relay.ErrClosed) {
				tr.fail("%s after Close: %v; want an error that matches ErrClosed", what, err)
			}
		}
		_, err := s.A.TryAcquireOrRenew(tr.ctx, role, alice, long)
		want("TryAcquireOrRenew", err)
		want("Release", s.A.Release(tr.ctx, lease))
		_, err = s.A.Current(tr.ctx, role)
		want("Current", err)
		if s.AdvanceToken != nil {
			want("AdvanceToken", s.AdvanceToken(tr.ctx, role, 9))
		}
		if waits {
			want("WaitReleased", waiter.WaitReleased(tr.ctx, role))
			want("WaitReleased that waited", await(tr, woken, "WaitReleased returns when its store is closed"))
		}
		tr.close(s.Close)
		tr.current(s.B, lease)
	}},
}
