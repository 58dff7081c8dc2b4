package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/relay-samples/relay-go/relay"
)

// errStillHere is a grant that came too soon: the server has freed the lock
// that was held here, and the table has yet to forget it.
var errStillHere = fmt.Errorf("%w: held by this Locker", relay.ErrNotAcquired)

// busy is what a caller waits for inside the process.
type busy struct {
	done    <-chan struct{}
	attempt *attempt // nil: a lock that is held
	late    bool     // it came after the attempt's question
}

// wait returns nil when it is worth trying again, and else the answer to the
// caller. A refusal counts for those only who came before the question: the
// lock may have been freed between the question and a caller who came later,
// and that caller may know.
func (b *busy) wait(ctx context.Context) error {
	select {
	case <-b.done:
	case <-ctx.Done():
		return nil
	}
	if b.attempt == nil || b.late && errors.Is(b.attempt.err, relay.ErrNotAcquired) {
		return nil
	}
	return b.attempt.err
}

// enter gives a claim, or what to wait for.
func (l *Locker) enter(c claim) (*busy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed("lock")
	}
	if holder := l.held[c.name]; holder != nil {
		if !c.waits {
			return nil, fmt.Errorf("relay/postgres: lock %q: %w", c.name, errStillHere)
		}
		return &busy{done: holder.gone}, nil
	}
	if other := l.asking[c]; other != nil {
		return &busy{done: other.done, attempt: other, late: other.asked}, nil
	}
	if l.sessions >= l.cfg.MaxHeld {
		return nil, fmt.Errorf("%w (MaxHeld = %d)", ErrTooMany, l.cfg.MaxHeld)
	}
	l.sessions++
	l.asking[c] = &attempt{done: make(chan struct{})}
	l.inflight.Add(1)
	return nil, nil
}

// asks says that the claim's question is about to be asked.
func (l *Locker) asks(c claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking[c].asked = true
}

// hold enters a lock that the server has granted, unless the Locker is closed
// or still has the lock's predecessor. Two claims can be under way for a name,
// so a grant may come after the server has freed the predecessor and before it
// is forgotten. It is given up then: whoever saw the predecessor held is told
// so, or waits until it is gone.
func (l *Locker) hold(lock *heldLock) (*heldLock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, errClosed("lock")
	case l.held[lock.name] != nil:
		return nil, fmt.Errorf("relay/postgres: lock %q: %w", lock.name, errStillHere)
	}
	l.held[lock.name] = lock // with its session, which is counted until forget
	return lock, nil
}

// leave gives a claim back, and tells those who wait for it how it ended. That
// the caller's own context has ended is no answer to the others.
func (l *Locker) leave(ctx context.Context, c claim, lock *heldLock, err error) {
	ended := endOf(ctx) != nil // asks a context of the user's: not under the mutex
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.inflight.Done()
	if lock == nil {
		l.sessions--
	}
	a := l.asking[c]
	if !ended && !(c.waits && errors.Is(err, errStillHere)) {
		a.err = err
	}
	close(a.done)
	delete(l.asking, c)
}

// forget takes a lock out of the table and lets its local waiters try; the
// second time it does nothing. The lock's session must no longer hold it.
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
	lost := locks[:0:0]
	for _, lock := range locks {
		if lock.markLost(relay.ErrClosed) {
			lost = append(lost, lock)
		}
	}
	for _, lock := range lost { // an observer holds up none of the marks
		lock.emitLost()
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
