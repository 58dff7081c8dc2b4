package relaytest

import (
	"context"
	"errors"

	"github.com/relay-samples/relay-go/relay"
)

func (s LockerSubject) needsLose(tr *trial) {
	if s.Lose == nil {
		tr.skip("this adapter's locks can't be lost")
	}
}

func (s LockerSubject) needsClose(tr *trial) {
	if s.Close == nil {
		tr.skip("this adapter has no Close")
	}
}

// either returns A or B, by turns.
func (s LockerSubject) either(i int) relay.Locker {
	if i%2 == 0 {
		return s.A
	}
	return s.B
}

// take takes a lock that must be free, because of why.
func (tr *trial) take(l relay.Locker, name, why string) relay.Lock {
	lock, err := l.TryAcquire(tr.ctx, name)
	if err != nil {
		tr.fail("TryAcquire(%.40q): %v; want the lock: %s", name, err, why)
	}
	return lock
}

// acquire takes a lock that is free or about to be, because of why.
func (tr *trial) acquire(l relay.Locker, name, why string) relay.Lock {
	lock, err := l.Acquire(tr.ctx, name)
	if err != nil {
		tr.fail("Acquire(%.40q): %v; want the lock: %s", name, err, why)
	}
	return lock
}

// refuse tries a lock that must not be granted, because of why.
func (tr *trial) refuse(l relay.Locker, name, why string) {
	_, err := l.TryAcquire(tr.ctx, name)
	switch {
	case err == nil:
		tr.fail("TryAcquire(%.40q) got the lock: %s", name, why)
	case !errors.Is(err, relay.ErrNotAcquired):
		tr.fail("TryAcquire(%.40q): %v; want an error that matches ErrNotAcquired: %s", name, err, why)
	}
}

// giveUp waits briefly for a lock that must not be granted, because of why.
func (tr *trial) giveUp(l relay.Locker, name, why string) {
	ctx, cancel := tr.brief()
	defer cancel()
	// Beside the rule, so that a call which ignores its context is told apart.
	got := await(tr, tr.acquiring(ctx, l, name), "Acquire returns once its context has ended")
	if got.err == nil {
		tr.fail("Acquire(%.40q) got the lock: %s", name, why)
	}
	tr.bothErrors(got.err, context.DeadlineExceeded)
}

// bothErrors fails unless err is what an Acquire returns whose context ended
// with ended.
func (tr *trial) bothErrors(err, ended error) {
	if !errors.Is(err, relay.ErrNotAcquired) || !errors.Is(err, ended) {
		tr.fail("Acquire whose context ended: %v; want an error that matches both ErrNotAcquired and %q", err, ended)
	}
}

func (tr *trial) unlock(lock relay.Lock) {
	if err := lock.Release(tr.ctx); err != nil {
		tr.fail("Release of %.40q: %v; want nil", lock.Name(), err)
	}
}

// notLost fails if lock says that it is lost, in spite of why.
func (tr *trial) notLost(lock relay.Lock, why string) {
	select {
	case <-lock.Lost():
		tr.fail("Lost of %.40q is closed: %s", lock.Name(), why)
	default:
	}
}

// lose makes A lose a lock and waits until it has noticed.
func (tr *trial) lose(s LockerSubject, lock relay.Lock) {
	s.Lose(lock)
	await(tr, lock.Lost(), "Lost closes when the lock is lost")
}

func (tr *trial) close(closeA func(context.Context) error) {
	if err := closeA(tr.ctx); err != nil {
		tr.fail("Close: %v; want nil, the second time too", err)
	}
}

// acquired is what an Acquire returned.
type acquired struct {
	lock relay.Lock
	err  error
}

// acquiring runs Acquire beside the rule.
func (tr *trial) acquiring(ctx context.Context, l relay.Locker, name string) <-chan acquired {
	return async(tr, func() acquired {
		lock, err := l.Acquire(ctx, name)
		return acquired{lock, err}
	})
}
