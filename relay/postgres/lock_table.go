package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/relay-samples/relay-go/relay"
)

// enter gives a claim, or a channel that closes when it is worth trying again.
func (l *Locker) enter(c claim) (busy <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed("lock")
	}
	if holder := l.held[c.name]; holder != nil {
		if !c.waits {
			return nil, fmt.Errorf("relay/postgres: lock %q is held by this Locker: %w", c.name, relay.ErrNotAcquired)
		}
		return holder.gone, nil
	}
	if other := l.asking[c]; other != nil {
		return other, nil
	}
	if l.sessions >= l.cfg.MaxHeld {
		return nil, fmt.Errorf("%w (MaxHeld = %d)", ErrTooMany, l.cfg.MaxHeld)
	}
	l.sessions++
	l.asking[c] = make(chan struct{})
	l.inflight.Add(1)
	return nil, nil
}

// leave gives a claim back, and enters the lock that it led to, if any. It
// reports whether the lock may stay: not once the Locker is closed.
func (l *Locker) leave(c claim, lock *heldLock) (kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock != nil && !l.closed {
		l.held[c.name] = lock // its session is counted until forget
		kept = true
	} else {
		l.sessions--
	}
	close(l.asking[c])
	delete(l.asking, c)
	return kept
}

// forget takes a lock out of the table and lets its local waiters try. Its
// session must no longer hold it.
func (l *Locker) forget(lock *heldLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[lock.name] != lock {
		return
	}
	delete(l.held, lock.name)
	l.sessions--
	close(lock.gone)
}

func (l *Locker) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close ends all calls with relay.ErrClosed, waiting ones included, and frees
// what is held: the Lost channels close, and Release says relay.ErrLost and
// relay.ErrClosed. It returns when the server has freed everything, or with
// ctx's error when that ends first; the rest then goes on without it, bounded
// by RequestTimeout. A second Close does nothing and returns nil.
func (l *Locker) Close(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	locks := make([]*heldLock, 0, len(l.held))
	for _, lock := range l.held {
		locks = append(locks, lock)
	}
	l.mu.Unlock()
	l.life.end()
	for _, lock := range locks {
		lock.lose(relay.ErrClosed)
	}

	freed := make(chan struct{})
	go func() {
		defer close(freed)
		var all sync.WaitGroup
		for _, lock := range locks {
			all.Go(func() { _ = lock.Release(ctx) }) // it says what lose has said
		}
		all.Wait()
		l.inflight.Wait()
	}()
	select {
	case <-freed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("relay/postgres: close: %w", ctx.Err())
	}
}
