package relaytest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

type (
	tryFunc     = func(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error)
	releaseFunc = func(ctx context.Context, lease relay.Lease) error
	currentFunc = func(ctx context.Context, role string) (relay.Lease, error)
	waitFunc    = func(ctx context.Context, role string) error
	advanceFunc = func(ctx context.Context, role string, atLeast relay.Token) error
)

// store is a LeaseStore made of functions, so that one of them can be replaced.
type store struct {
	try     tryFunc
	release releaseFunc
	current currentFunc
	wait    waitFunc
	advance advanceFunc
	close   func(context.Context) error
}

func (s *store) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	return s.try(ctx, role, owner, ttl)
}
func (s *store) Release(ctx context.Context, lease relay.Lease) error { return s.release(ctx, lease) }
func (s *store) Current(ctx context.Context, role string) (relay.Lease, error) {
	return s.current(ctx, role)
}
func (s *store) WaitReleased(ctx context.Context, role string) error { return s.wait(ctx, role) }

// newStore returns a store over a backend that keeps all the promises and can
// be closed.
func newStore(backend *memory.LeaseStore) *store {
	c := newCloser()
	closed := func() error { return c.err(relay.ErrClosed) }
	s := &store{close: c.Close}
	s.try = func(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
		if err := closed(); err != nil {
			return relay.Lease{}, err
		}
		return backend.TryAcquireOrRenew(ctx, role, owner, ttl)
	}
	s.release = func(ctx context.Context, lease relay.Lease) error {
		return firstError(closed, func() error { return backend.Release(ctx, lease) })
	}
	s.current = func(ctx context.Context, role string) (relay.Lease, error) {
		if err := closed(); err != nil {
			return relay.Lease{}, err
		}
		return backend.Current(ctx, role)
	}
	s.advance = func(ctx context.Context, role string, atLeast relay.Token) error {
		return firstError(closed, func() error { return backend.AdvanceToken(ctx, role, atLeast) })
	}
	s.wait = func(ctx context.Context, role string) error {
		wait, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-c.closed:
				cancel()
			case <-wait.Done():
			}
		}()
		return firstError(closed, func() error { return errors.Join(backend.WaitReleased(wait, role), closed()) })
	}
	return s
}

// world is what the two stores of a subject share.
type world struct {
	*memory.LeaseStore
	granted sync.Map // role -> record, the last grant or renewal of each role
}

type record struct {
	lease    relay.Lease
	released bool
}

func (w *world) last(role string) (last record, known bool) {
	r, known := w.granted.Load(role)
	last, _ = r.(record)
	return last, known
}

// newLeaseSubject returns a subject of two good stores to which change was
// done. It belongs in a bubble.
func newLeaseSubject(change func(*world, *store)) relaytest.LeaseStoreSubject {
	w := &world{LeaseStore: memory.NewLeaseStore(nil)}
	a, b := newStore(w.LeaseStore), newStore(w.LeaseStore)
	for _, s := range []*store{a, b} {
		remember(w, s)
		change(w, s)
	}
	return relaytest.LeaseStoreSubject{
		A: a, B: b, Elapse: time.Sleep, Exact: true, AdvanceToken: a.advance, Close: a.close,
	}
}

func remember(w *world, s *store) {
	try, release := s.try, s.release
	s.try = func(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
		lease, err := try(ctx, role, owner, ttl)
		if err == nil {
			w.granted.Store(role, record{lease: lease})
		}
		return lease, err
	}
	s.release = func(ctx context.Context, lease relay.Lease) error {
		err := release(ctx, lease)
		if err == nil {
			w.granted.Store(lease.Role, record{lease, true})
		}
		return err
	}
}

// situation is how a TryAcquireOrRenew finds the role.
type situation int

const (
	never    situation = iota // it was never granted
	released                  // its last lease was released
	lapsed                    // its last lease has lapsed
	mine                      // the asking owner holds it
	others                    // another owner holds it
)

// question is a TryAcquireOrRenew that a fault answers in its own way.
type question struct {
	role, owner string
	in          situation
	last        relay.Lease // the last one granted
	ttl         time.Duration

	// ask asks the good store, for a TTL that may be another than ttl.
	ask func(ttl time.Duration) (relay.Lease, error)
}

// answering replaces TryAcquireOrRenew.
func answering(answer func(w *world, q question) (relay.Lease, error)) func(*world, *store) {
	return func(w *world, s *store) {
		try := s.try
		s.try = func(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
			last, known := w.last(role)
			q := question{role: role, owner: owner, last: last.lease, ttl: ttl}
			q.ask = func(ttl time.Duration) (relay.Lease, error) { return try(ctx, role, owner, ttl) }
			now, err := w.Current(context.Background(), role)
			switch {
			case err == nil && now.Owner == owner:
				q.in = mine
			case err == nil:
				q.in = others
			case known && last.released:
				q.in = released
			case known:
				q.in = lapsed
			}
			return answer(w, q)
		}
	}
}

// withToken changes the token of an answer.
func withToken(lease relay.Lease, err error, token func(relay.Token) relay.Token) (relay.Lease, error) {
	if err == nil {
		lease.Token = token(lease.Token)
	}
	return lease, err
}

func oneLess(token relay.Token) relay.Token { return token - 1 }

// handingOutTheOldToken grants the token of the lease before when the role is
// found so.
func handingOutTheOldToken(when func(question) bool) func(*world, *store) {
	return answering(func(_ *world, q question) (relay.Lease, error) {
		lease, err := q.ask(q.ttl)
		if when(q) {
			return withToken(lease, err, oneLess)
		}
		return lease, err
	})
}

// raising makes the store give the next token before it answers, when the role
// is found so.
func raising(when func(question) bool) func(*world, *store) {
	return answering(func(w *world, q question) (relay.Lease, error) {
		if when(q) {
			_ = w.AdvanceToken(context.Background(), q.role, q.last.Token+1)
		}
		return q.ask(q.ttl)
	})
}

// refusing changes the answer that a refusal gets.
func refusing(change func(held *relay.HeldError) (relay.Lease, error)) func(*world, *store) {
	return answering(func(_ *world, q question) (relay.Lease, error) {
		lease, err := q.ask(q.ttl)
		var held *relay.HeldError
		if errors.As(err, &held) {
			return change(held)
		}
		return lease, err
	})
}

// lastingLonger makes leases last by d longer than their ExpiresAt says.
func lastingLonger(d time.Duration) func(*world, *store) {
	return func(_ *world, s *store) {
		try, current := s.try, s.current
		s.try = func(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
			lease, err := try(ctx, role, owner, ttl+d)
			var held *relay.HeldError
			if errors.As(err, &held) {
				held.Lease.ExpiresAt = held.Lease.ExpiresAt.Add(-d)
			}
			if err == nil {
				lease.ExpiresAt = lease.ExpiresAt.Add(-d)
			}
			return lease, err
		}
		s.current = func(ctx context.Context, role string) (relay.Lease, error) {
			lease, err := current(ctx, role)
			if err == nil {
				lease.ExpiresAt = lease.ExpiresAt.Add(-d)
			}
			return lease, err
		}
	}
}

// releasingLease replaces Release. now is the live lease of the role.
func releasingLease(release func(ctx context.Context, w *world, now, lease relay.Lease, good releaseFunc) error) func(*world, *store) {
	return func(w *world, s *store) {
		good := s.release
		s.release = func(ctx context.Context, lease relay.Lease) error {
			now, _ := w.Current(context.Background(), lease.Role)
			return release(ctx, w, now, lease, good)
		}
	}
}

// advancing replaces AdvanceToken.
func advancing(advance func(ctx context.Context, w *world, role string, atLeast relay.Token, good advanceFunc) error) func(*world, *store) {
	return func(w *world, s *store) {
		good := s.advance
		s.advance = func(ctx context.Context, role string, atLeast relay.Token) error {
			return advance(ctx, w, role, atLeast, good)
		}
	}
}

// waiting replaces WaitReleased.
func waiting(wait func(ctx context.Context, role string, good waitFunc) error) func(*world, *store) {
	return func(_ *world, s *store) {
		good := s.wait
		s.wait = func(ctx context.Context, role string) error { return wait(ctx, role, good) }
	}
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// hopelessStore does nothing right.
func hopelessStore(testing.TB) relaytest.LeaseStoreSubject {
	s := &store{
		try: func(context.Context, string, string, time.Duration) (relay.Lease, error) {
			return relay.Lease{}, errHopeless
		},
		release: func(context.Context, relay.Lease) error { return errHopeless },
		current: func(context.Context, string) (relay.Lease, error) { return relay.Lease{}, errHopeless },
		wait:    func(context.Context, string) error { return errHopeless },
		advance: func(context.Context, string, relay.Token) error { return errHopeless },
		close:   func(context.Context) error { return errHopeless },
	}
	return relaytest.LeaseStoreSubject{A: s, B: s, Elapse: time.Sleep, Exact: true, AdvanceToken: s.advance, Close: s.close}
}
