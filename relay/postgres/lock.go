package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay"
)

var (
	_ relay.Locker = (*Locker)(nil)
	_ relay.Lock   = (*heldLock)(nil)
)

// Locker grants locks that exclude each other among all the processes that use
// one database. The locks are PostgreSQL advisory locks, all of them on one
// server session of the Locker's own, apart from every pool. The server frees
// them when the session ends: at once after a crash of the holder, about TTL
// after a freeze. That wakes nobody: who waits finds out at the next try.
//
// So the locks of a Locker share a fate: when its session is lost, all are.
// Whoever wants some that do not takes a second Locker. See the package's
// documentation for what each way costs.
//
// Acquire asks again and again, never more than RetryInterval apart, and at
// once when another Locker's release wakes it. It does not queue inside the
// server, where a waiter would hold a snapshot that blocks CREATE INDEX
// CONCURRENTLY. So waiters have no order among processes, and the server's
// deadlock detector does not see them: take several names in one order,
// everywhere.
//
// Read the limits in the package's documentation first.
type Locker struct {
	cfg     LockerConfig
	source  *source
	life    lifetime
	callers sync.Pool      // of *caller
	keepers sync.WaitGroup // one for each session that is not gone yet

	mu       sync.Mutex // guards what follows, and what says so
	slots    map[int64]*slot
	spare    []*slot   // to use again
	queue    []*slot   // those that want something of the server, in order
	line     *line     // the session in use; nil: none, the next call opens one
	reopenAt time.Time // the last opening failed: not before
	oldTold  bool      // ErrNoDeadMan was
	closed   bool
}

// NewLocker makes a Locker that connects as cfg says, which pgxpool.ParseConfig
// has to have made. Of cfg the connection and BeforeConnect count. It does not
// connect yet.
func NewLocker(cfg *pgxpool.Config, lockerCfg LockerConfig) (*Locker, error) {
	lockerCfg = lockerCfg.withDefaults()
	if err := lockerCfg.validate(); err != nil {
		return nil, err
	}
	source, err := newSource(cfg, lockerCfg.ApplicationName, lockerCfg.RequestTimeout)
	if err != nil {
		return nil, err
	}
	return &Locker{
		cfg:     lockerCfg,
		source:  source,
		life:    newLifetime(),
		callers: sync.Pool{New: newCaller},
		slots:   make(map[int64]*slot),
	}, nil
}

// TryAcquire takes the lock if nobody holds it, this Locker included;
// relay.ErrNotAcquired if somebody does, ErrTooMany if as many names as MaxHeld
// says are held or awaited. On any error nothing is held.
//
// A question that is under way is not cut short when ctx ends, since others
// share it; its answer counts, and a lock that it brings is given back.
func (l *Locker) TryAcquire(ctx context.Context, name string) (relay.Lock, error) {
	lock, err := l.take(ctx, name, false)
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// Acquire waits until the lock is free. When ctx ends first the error matches
// both relay.ErrNotAcquired and ctx.Err(), and nothing is held. Any other error
// ends the wait too: a server that can't be reached, a session that dies,
// ErrTooMany.
func (l *Locker) Acquire(ctx context.Context, name string) (relay.Lock, error) {
	lock, err := l.take(ctx, name, true)
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func (l *Locker) take(ctx context.Context, name string, waits bool) (*heldLock, error) {
	if l.isClosed() {
		return nil, errClosed("lock")
	}
	if err := relay.ValidateName(name); err != nil {
		return nil, err
	}
	if err := endOfCaller(ctx); err != nil {
		return nil, endedCall(name, waits, err)
	}
	c := l.callers.Get().(*caller)
	c.name, c.waits = name, waits
	if err := l.enter(c); err != nil {
		l.recycle(c)
		return nil, err
	}
	returned := false
	defer func() {
		if !returned { // a callback of the user's panics
			l.abandon(c)
		}
	}()
	l.await(ctx, c)
	end := endOfCaller(ctx)
	returned = true
	lock, err := c.lock, c.err
	l.recycle(c)
	if lock != nil && end != nil { // it came too late
		_, _ = lock.giveUp()
		return nil, endedCall(name, waits, end)
	}
	if err != nil {
		panicOn(err)
	}
	return lock, err
}

// endedCall is the error of a call whose context ended with err.
func endedCall(name string, waits bool, err error) error {
	if waits {
		return fmt.Errorf("relay/postgres: lock %q: %w: %w", name, relay.ErrNotAcquired, err)
	}
	return fmt.Errorf("relay/postgres: lock %q: %w", name, err)
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
// by RequestTimeout. It wakes nobody who waits elsewhere: a Release before it
// does. A second Close does nothing and returns nil.
func (l *Locker) Close(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	n := l.line
	if n != nil {
		l.lose(n, relay.ErrClosed)
		n.hangUp(l.cfg.RequestTimeout) // a question may still be answered
	}
	l.mu.Unlock()
	l.life.end()
	if n != nil {
		l.tellLost(n)
	}

	gone := make(chan struct{})
	go func() {
		defer close(gone)
		l.keepers.Wait()
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("relay/postgres: close: %w", ctx.Err())
	}
}
