package relay

import (
	"context"
	"errors"
	"fmt"
)

// Locker grants mutually exclusive, named locks across processes. A name that
// this Locker holds is refused like one that another process holds: locks are
// not re-entrant. A Locker goes on working after it has lost locks.
//
// A lock alone does not protect data. A holder that is paused or cut off may
// believe for a while that it still holds what another has taken; only a
// fencing token that the data checks refuses its late write (see Fence).
//
// Every method refuses a name that ValidateName refuses, before any I/O, and is
// ErrClosed after a Close that the adapter may have.
type Locker interface {
	// TryAcquire takes the lock if nobody holds it; ErrNotAcquired if somebody
	// does. On any error nothing is held. ctx bounds the call, not the hold.
	TryAcquire(ctx context.Context, name string) (Lock, error)

	// Acquire waits until the lock is free. When ctx ends first the error
	// matches both ErrNotAcquired and ctx.Err(), and nothing is held. ctx
	// bounds the wait, not the hold.
	Acquire(ctx context.Context, name string) (Lock, error)
}

// Lock is held until Release, or until it is lost; Lost tells the second.
type Lock interface {
	// Name is the name it was taken under.
	Name() string

	// Lost is closed when the lock is no longer certain, never because of
	// Release. Somebody else may hold it from then on, or soon.
	Lost() <-chan struct{}

	// Release gives the lock up. It runs also when ctx has ended, detached
	// from it and bounded by the Locker's request timeout. If the lock had been
	// lost the error wraps ErrLost and the cause. A second call does nothing
	// and returns what the first did.
	Release(ctx context.Context) error
}

// WithLock runs fn while it holds the named lock, for which it waits. The
// context that fn gets is cancelled with cause ErrLost when the lock is lost;
// WithLock waits for fn all the same, and releases the lock only after it has
// returned or panicked.
//
// It returns the error of Acquire when fn did not run, otherwise fn's error
// joined with Release's: ErrLost shows even when fn returned nil.
func WithLock(ctx context.Context, l Locker, name string, fn func(ctx context.Context) error) (err error) {
	switch {
	case l == nil:
		return errors.New("relay: WithLock: the Locker is nil")
	case fn == nil:
		return errors.New("relay: WithLock: fn is nil")
	}
	lock, err := l.Acquire(ctx, name)
	switch {
	case err != nil:
		return err
	case lock == nil:
		return fmt.Errorf("relay: WithLock: the Locker granted %q without a lock", name)
	}
	held, stop := watchLock(ctx, lock, func() {})
	defer func() { // also when fn panics or calls runtime.Goexit
		stop()
		err = errors.Join(err, lock.Release(ctx))
	}()
	return fn(held)
}

// watchLock returns a context that is cancelled with cause ErrLost when the
// lock is lost, just before onLost is called, and a function that ends the
// watch, waits for it and cancels the context.
func watchLock(ctx context.Context, lock Lock, onLost func()) (context.Context, func()) {
	held, cancel := context.WithCancelCause(ctx)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-lock.Lost():
		case <-quit:
			if !isClosed(lock.Lost()) { // the select picks any that is ready
				return
			}
		}
		cancel(ErrLost)
		onLost()
	}()
	return held, func() {
		close(quit)
		<-done
		cancel(context.Canceled)
	}
}
