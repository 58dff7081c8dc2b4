package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/relay-samples/relay-go/relay"
)

var (
	_ relay.Locker = (*Locker)(nil)
	_ relay.Lock   = (*lock)(nil)
)

// Locker grants named locks to the goroutines that share it. Waiters get a lock
// in the order in which they came. The zero value is ready; a Locker must not
// be copied.
type Locker struct {
	mu sync.Mutex // guards queues, and each queue in it

	// queues has a key for each name that is held. Its value lists who waits,
	// the longest wait first.
	queues map[string][]*waiter
}

// waiter is one Acquire that waits. granted is closed when the lock has become
// its own; it is then no longer in a queue.
type waiter struct{ granted chan struct{} }

// NewLocker returns a Locker in which nothing is held.
func NewLocker() *Locker { return &Locker{} }

// TryAcquire takes the lock if nobody holds it; relay.ErrNotAcquired if
// somebody does. If ctx has ended its error is returned. On any error nothing
// is held.
func (l *Locker) TryAcquire(ctx context.Context, name string) (relay.Lock, error) {
	if err := relay.ValidateName(name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.take(name) {
		return nil, fmt.Errorf("%w: lock %q is held", relay.ErrNotAcquired, name)
	}
	return &lock{locker: l, name: name}, nil
}

// Acquire waits until the lock is free. When ctx ends first, or has ended
// already, the error matches both relay.ErrNotAcquired and ctx.Err(), and
// nothing is held.
func (l *Locker) Acquire(ctx context.Context, name string) (relay.Lock, error) {
	if err := relay.ValidateName(name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, notAcquired(name, err)
	}
	w := l.takeOrQueue(name)
	if w == nil {
		return &lock{locker: l, name: name}, nil
	}
	select {
	case <-w.granted:
		return &lock{locker: l, name: name}, nil
	case <-ctx.Done():
		l.giveUp(name, w)
		return nil, notAcquired(name, ctx.Err())
	}
}

func notAcquired(name string, cause error) error {
	return fmt.Errorf("%w: lock %q: %w", relay.ErrNotAcquired, name, cause)
}

// take marks a free name as held; false if it is held already. The caller has
// mu.
func (l *Locker) take(name string) bool {
	if _, held := l.queues[name]; held {
		return false
	}
	if l.queues == nil {
		l.queues = make(map[string][]*waiter)
	}
	l.queues[name] = nil
	return true
}

// takeOrQueue takes a free name and returns nil, or returns a place in the
// queue for it.
func (l *Locker) takeOrQueue(name string) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.take(name) {
		return nil
	}
	w := &waiter{granted: make(chan struct{})}
	l.queues[name] = append(l.queues[name], w)
	return w
}

// giveUp ends the wait of w. The lock may have become its own while its context
// ended; nobody would ever release that one, so it goes to the next in line.
func (l *Locker) giveUp(name string, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queues[name], w); i >= 0 {
		l.queues[name] = slices.Delete(l.queues[name], i, i+1)
		return
	}
	l.handOver(name)
}

// handOver gives a held name to the first in line, or frees it. The caller has
// mu.
//
// The name stays held in between. Freeing it and waking the first waiter would
// let a newcomer step in before it, time after time.
func (l *Locker) handOver(name string) {
	queue := l.queues[name]
	if len(queue) == 0 {
		delete(l.queues, name)
		return
	}
	first := queue[0]
	l.queues[name] = slices.Delete(queue, 0, 1)
	close(first.granted)
}

// lock is a name held through a Locker.
type lock struct {
	locker *Locker
	name   string
	once   sync.Once // the first Release gives the name up, later ones nothing
}

func (l *lock) Name() string { return l.name }

// Lost returns nil, a channel that never closes: what this process holds in its
// own memory can't be taken from it.
func (l *lock) Lost() <-chan struct{} { return nil }

// Release gives the lock up, whatever the state of ctx: it waits for nothing.
func (l *lock) Release(context.Context) error {
	l.once.Do(func() {
		l.locker.mu.Lock()
		defer l.locker.mu.Unlock()
		l.locker.handOver(l.name)
	})
	return nil
}
