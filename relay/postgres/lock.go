package postgres

import (
	"context"
	"errors"
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
// one database. Each lock is a PostgreSQL advisory lock on a server session of
// its own, apart from every pool, and the server frees it when the session
// ends: a crash of the holder costs nothing, a freeze at most TTL.
//
// Acquire asks again and again, never more than RetryInterval apart. It does
// not queue inside the server, where a waiter would hold a snapshot that blocks
// CREATE INDEX CONCURRENTLY. So waiters have no order among processes, and the
// server's deadlock detector does not see them: take several names in one
// order, everywhere.
//
// Read the limits in the package's documentation first.
type Locker struct {
	cfg    LockerConfig
	source *source
	life   lifetime

	mu       sync.Mutex           // guards what follows
	held     map[string]*heldLock // from hold until forget; never overwritten
	asking   map[claim]*attempt
	sessions int            // held, opening, and those of claims
	inflight sync.WaitGroup // calls that have a claim
	closed   bool
}

// claim is the right to ask the server for a name. One TryAcquire and one
// Acquire have it at a time; the others of their kind wait for the outcome
// inside the process, where waiting costs no session.
type claim struct {
	name  string
	waits bool // Acquire
}

// attempt is what one claim leads to. An error of the server's is an answer to
// those who waited for it too: if each asked a silent server in turn, the last
// would wait for as many timeouts as there are callers.
type attempt struct {
	done  chan struct{} // closed when the claim is given up
	err   error         // valid once done; nil: ask yourself
	asked bool          // the Locker's mu guards it
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
		cfg:    lockerCfg,
		source: source,
		life:   newLifetime(),
		held:   make(map[string]*heldLock),
		asking: make(map[claim]*attempt),
	}, nil
}

// TryAcquire takes the lock if nobody holds it, this Locker included;
// relay.ErrNotAcquired if somebody does, ErrTooMany if MaxHeld sessions are
// open. On any error nothing is held: without an answer from the server the
// session is closed, and with it goes whatever it may have got.
func (l *Locker) TryAcquire(ctx context.Context, name string) (relay.Lock, error) {
	lock, err := l.take(ctx, claim{name: name})
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
	lock, err := l.take(ctx, claim{name: name, waits: true})
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func (l *Locker) take(caller context.Context, c claim) (*heldLock, error) {
	if l.isClosed() {
		return nil, errClosed("lock")
	}
	if err := relay.ValidateName(c.name); err != nil {
		return nil, err
	}
	ctx, stop := l.life.bound(caller)
	defer stop()
	for {
		if err := endOf(ctx); err != nil {
			return nil, c.ended(err)
		}
		busy, err := l.enter(c)
		if err != nil {
			return nil, err
		}
		if busy == nil {
			lock, err := l.contend(ctx, c)
			if c.waits && errors.Is(err, errStillHere) {
				continue
			}
			return lock, err
		}
		if err := busy.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// contend asks the server, with a claim, and gives the claim back.
func (l *Locker) contend(ctx context.Context, c claim) (lock *heldLock, err error) {
	defer func() { // also when a callback of the user panics
		l.leave(ctx, c, lock, err)
		if lock != nil {
			go lock.keep()
		}
	}()
	s, err := l.openSession(ctx)
	if err != nil {
		return nil, l.failed(ctx, c, err)
	}
	defer func() {
		if lock == nil {
			// Closing is the sure way to give up: the session may have got the
			// lock although its answer did not arrive, or came too late.
			s.close(time.Now().Add(l.grace()))
		}
	}()
	return l.poll(ctx, c, s)
}

// poll asks once, or for a waiter until the lock is granted.
func (l *Locker) poll(ctx context.Context, c claim, s *session) (*heldLock, error) {
	key := LockKey(c.name)
	for {
		l.asks(c)
		granted, asked, err := s.tryLock(ctx, time.Now().Add(l.cfg.RequestTimeout), key)
		if err == nil {
			err = endOf(ctx)
		}
		switch {
		case err != nil:
			return nil, l.failed(ctx, c, err)
		case granted:
			return l.hold(newHeldLock(l, c.name, key, s, asked))
		case !c.waits:
			return nil, fmt.Errorf("relay/postgres: lock %q is held: %w", c.name, relay.ErrNotAcquired)
		}
		timer := time.NewTimer(l.cfg.wait())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, c.ended(endOf(ctx))
		}
	}
}

// failed says why a claim came to nothing: because its context ended, if so.
func (l *Locker) failed(ctx context.Context, c claim, err error) error {
	if end := endOf(ctx); end != nil {
		return c.ended(end)
	}
	return wrap(fmt.Sprintf("lock %q", c.name), err)
}

// ended is the error of a call whose context ended with err.
func (c claim) ended(err error) error {
	if c.waits && !errors.Is(err, relay.ErrClosed) {
		return fmt.Errorf("relay/postgres: lock %q: %w: %w", c.name, relay.ErrNotAcquired, err)
	}
	return fmt.Errorf("relay/postgres: lock %q: %w", c.name, err)
}

// grace is how long a caller whose context has ended, or who was refused, waits
// for the server to hang up.
func (l *Locker) grace() time.Duration { return min(l.cfg.RequestTimeout, time.Second) }
