package relaytest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

type acquireFunc = func(ctx context.Context, name string) (relay.Lock, error)

// locker is a good Locker with one of its methods replaced.
type locker struct {
	relay.Locker
	try, acquire acquireFunc // nil: the good one
}

func (l locker) TryAcquire(ctx context.Context, name string) (relay.Lock, error) {
	if l.try != nil {
		return l.try(ctx, name)
	}
	return l.Locker.TryAcquire(ctx, name)
}

func (l locker) Acquire(ctx context.Context, name string) (relay.Lock, error) {
	if l.acquire != nil {
		return l.acquire(ctx, name)
	}
	return l.Locker.Acquire(ctx, name)
}

// lock is a good Lock with one of its methods replaced. Without a good one it
// is a lock that was never taken.
type lock struct {
	relay.Lock
	name    string          // "": the good one
	lost    <-chan struct{} // nil: the good one
	release func(context.Context) error
}

func (l lock) Name() string {
	if l.name != "" {
		return l.name
	}
	return l.Lock.Name()
}

func (l lock) Lost() <-chan struct{} {
	if l.lost != nil || l.Lock == nil {
		return l.lost
	}
	return l.Lock.Lost()
}

func (l lock) Release(ctx context.Context) error {
	if l.release != nil || l.Lock == nil {
		return l.release(ctx)
	}
	return l.Lock.Release(ctx)
}

// neverTaken returns a lock that nobody has taken.
func neverTaken(name string) relay.Lock {
	return lock{name: name, release: func(context.Context) error { return nil }}
}

// fault makes a good Locker break a promise.
type fault func(good relay.Locker) relay.Locker

// both breaks A and B.
func both(f fault) func(testing.TB, *relaytest.LockerSubject, *process) {
	return func(_ testing.TB, s *relaytest.LockerSubject, _ *process) { s.A, s.B = f(s.A), f(s.B) }
}

// trying replaces TryAcquire.
func trying(try func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error)) fault {
	return func(good relay.Locker) relay.Locker {
		return locker{Locker: good, try: func(ctx context.Context, name string) (relay.Lock, error) {
			return try(ctx, name, good)
		}}
	}
}

// acquiring replaces Acquire.
func acquiring(acquire func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error)) fault {
	return func(good relay.Locker) relay.Locker {
		return locker{Locker: good, acquire: func(ctx context.Context, name string) (relay.Lock, error) {
			return acquire(ctx, name, good)
		}}
	}
}

// granting changes each lock that is granted. ctx is the one of the call.
func granting(change func(ctx context.Context, good relay.Lock) relay.Lock) fault {
	return func(good relay.Locker) relay.Locker {
		changed := func(take acquireFunc) acquireFunc {
			return func(ctx context.Context, name string) (relay.Lock, error) {
				lock, err := take(ctx, name)
				if err != nil {
					return nil, err
				}
				return change(ctx, lock), nil
			}
		}
		return locker{try: changed(good.TryAcquire), acquire: changed(good.Acquire)}
	}
}

// releasing replaces Release. n counts the calls for one lock, from 1.
func releasing(release func(ctx context.Context, good relay.Lock, n int) error) fault {
	return granting(func(_ context.Context, good relay.Lock) relay.Lock {
		n := 0
		return lock{Lock: good, release: func(ctx context.Context) error {
			n++
			return release(ctx, good, n)
		}}
	})
}

// taking takes another name than the one that was asked for.
func taking(other func(name string) string) fault {
	return func(good relay.Locker) relay.Locker {
		changed := func(take acquireFunc) acquireFunc {
			return func(ctx context.Context, name string) (relay.Lock, error) {
				got, err := take(ctx, other(name))
				if err != nil {
					return nil, err
				}
				return lock{Lock: got, name: name, release: got.Release}, nil
			}
		}
		return locker{try: changed(good.TryAcquire), acquire: changed(good.Acquire)}
	}
}

// reentrant grants a Locker what it holds already.
func reentrant(good relay.Locker) relay.Locker {
	var own sync.Map
	return trying(func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
		if _, held := own.Load(name); held {
			return neverTaken(name), nil
		}
		got, err := good.TryAcquire(ctx, name)
		if err != nil {
			return nil, err
		}
		own.Store(name, true)
		return lock{Lock: got, release: func(ctx context.Context) error {
			own.Delete(name)
			return got.Release(ctx)
		}}, nil
	})(good)
}

// stacking counts how often a Locker asked for what it holds, and wants as many
// releases: the session lock of a database does that.
func stacking(good relay.Locker) relay.Locker {
	var asked atomic.Int32
	return trying(func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
		got, err := good.TryAcquire(ctx, name)
		if err != nil {
			asked.Add(1)
			return nil, err
		}
		return lock{Lock: got, release: func(ctx context.Context) error {
			if asked.Add(-1) >= 0 {
				return nil
			}
			return got.Release(ctx)
		}}, nil
	})(good)
}

// orphaning leaves the server's grant to nobody when the caller gives up.
func orphaning(t testing.TB, s *relaytest.LockerSubject, _ *process) {
	both(acquiring(func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
		type answer struct {
			lock relay.Lock
			err  error
		}
		answers := make(chan answer, 1)
		go func() {
			lock, err := good.Acquire(t.Context(), name)
			answers <- answer{lock, err}
		}()
		select {
		case a := <-answers:
			return a.lock, a.err
		case <-ctx.Done():
			return nil, errors.Join(relay.ErrNotAcquired, ctx.Err())
		}
	}))(t, s, nil)
}

// orphaningLate looks at its context once more after it got the lock, and then
// forgets the lock.
func orphaningLate(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
	got, err := good.Acquire(ctx, name)
	time.Sleep(time.Nanosecond) // in a bubble: until all others have done what they can
	if ctx.Err() != nil {
		return nil, errors.Join(relay.ErrNotAcquired, ctx.Err())
	}
	return got, err
}

// releasingWhoeverHolds releases by name, whoever holds it now.
func releasingWhoeverHolds() fault {
	var holders sync.Map
	return granting(func(_ context.Context, good relay.Lock) relay.Lock {
		holders.Store(good.Name(), good)
		return lock{Lock: good, release: func(ctx context.Context) error {
			holder, _ := holders.Load(good.Name())
			return errors.Join(good.Release(ctx), holder.(relay.Lock).Release(ctx))
		}}
	})
}

// crowding sends the third of those who wait at a time elsewhere.
func crowding(third acquireFunc) fault {
	var waiting atomic.Int32
	return acquiring(func(ctx context.Context, name string, good relay.Locker) (relay.Lock, error) {
		defer waiting.Add(-1)
		if waiting.Add(1) > 2 {
			return third(ctx, name)
		}
		return good.Acquire(ctx, name)
	})
}

// sharingLosses tells every lock that a Locker ever granted of any loss.
func sharingLosses(t testing.TB, s *relaytest.LockerSubject, _ *process) {
	lost := make(chan struct{})
	once := sync.OnceFunc(func() { close(lost) })
	both(granting(func(_ context.Context, good relay.Lock) relay.Lock {
		go func() {
			select {
			case <-good.Lost():
				once()
			case <-t.Context().Done():
			}
		}()
		return lock{Lock: good, lost: lost}
	}))(t, s, nil)
}

// hopelessLocker does nothing right.
func hopelessLocker(testing.TB) relaytest.LockerSubject {
	fail := func(context.Context, string) (relay.Lock, error) { return nil, errHopeless }
	l := locker{try: fail, acquire: fail}
	return relaytest.LockerSubject{
		A: l, B: l, Lose: func(relay.Lock) {}, Close: func(context.Context) error { return errHopeless },
	}
}
