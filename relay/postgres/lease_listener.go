package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/internal/pause"
)

const (
	// listenLinger is for how long a role stays registered after the last one
	// who waited for it has left. An elector that waits again within that time
	// costs one read.
	listenLinger = time.Second

	// listenAgain is for how long at most the next opening of a session waits
	// after one that failed. Meanwhile callers get its error.
	listenAgain = 2 * time.Second

	// listenTTL is after what time the server ends the session of a client that
	// has fallen silent, and with it its registrations.
	listenTTL = 30 * time.Second
)

// releaseListener hears which leases are released, on one session for all who
// wait in this process. The session belongs to a goroutine, which runs while
// somebody waits and for a while longer.
type releaseListener struct {
	source  *source
	timeout time.Duration // of a round trip
	life    lifetime
	observe relay.Observer

	mu      sync.Mutex // guards what follows, and all of roles
	roles   map[string]*awaitedRole
	session *session      // the one to wake; nil: none is ready
	runs    chan struct{} // closed when the goroutine has ended; nil while there is none
	closed  bool
	failure error     // why the last session could not be made
	retryAt time.Time // no sooner is another one tried
}

// awaitedRole is a role that somebody waits for, or did a moment ago.
type awaitedRole struct {
	name       string
	waiters    map[chan error]struct{}
	leftAt     time.Time // when the last waiter left
	registered bool      // with the server
	unchecked  bool      // a waiter came since the server was last asked whether the role is live
}

// WaitReleased returns nil once the role's lease is released, or at once when
// none is live. The lapse of a lease does not wake it, and a nil may be wrong:
// it is a hint. It needs a server session of its own, which is closed when nobody
// has waited for a second: through a pooler it is ErrPooled at once, on a standby
// ErrReadOnly. When that session is lost the call returns an error; the next one
// opens another. If that fails, calls get its error for up to two seconds.
func (s *LeaseStore) WaitReleased(ctx context.Context, role string) error {
	if err := relay.ValidateName(role); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.listener.wait(ctx, role); err != nil {
		panicOn(err)
		return wrap(fmt.Sprintf("wait for the release of role %q", role), err)
	}
	return nil
}

func (l *releaseListener) wait(ctx context.Context, role string) error {
	woken := make(chan error, 1)
	if err := l.join(role, woken); err != nil {
		return err
	}
	select {
	case err := <-woken:
		return err
	case <-ctx.Done():
		l.leave(role, woken)
		return ctx.Err()
	}
}

func (l *releaseListener) join(role string, woken chan error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return relay.ErrClosed
	case l.runs == nil && time.Now().Before(l.retryAt):
		return l.failure
	}
	r := l.roles[role]
	if r == nil {
		if l.roles == nil {
			l.roles = make(map[string]*awaitedRole)
		}
		r = &awaitedRole{name: role, waiters: make(map[chan error]struct{})}
		l.roles[role] = r
	}
	r.waiters[woken] = struct{}{}
	r.unchecked = true
	l.stir()
	if l.runs == nil {
		l.runs = make(chan struct{})
		go l.run(l.runs)
	}
	return nil
}

func (l *releaseListener) leave(role string, woken chan error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.roles[role]
	if r == nil {
		return
	}
	delete(r.waiters, woken)
	if len(r.waiters) == 0 {
		r.leftAt = time.Now()
		l.stir()
	}
}

// stir lets the goroutine look at the roles again. The caller has mu.
func (l *releaseListener) stir() {
	if l.session != nil {
		l.session.wake()
	}
}

// wake answers all who wait for a role. The caller has mu.
func (r *awaitedRole) wake(err error) {
	for woken := range r.waiters {
		woken <- err
	}
	clear(r.waiters)
	r.leftAt = time.Now()
}

// run keeps a session for as long as somebody waits.
func (l *releaseListener) run(ended chan<- struct{}) {
	defer close(ended)
	ctx, stop := l.life.bound(context.Background())
	defer stop()
	returned := false
	defer func() {
		if !returned {
			l.goesOn(false, errGoexit)
		}
	}()
	for {
		useful, err := l.listen(ctx)
		if returned = !l.goesOn(useful, endOr(ctx, err)); returned {
			return
		}
	}
}

// goesOn tells all who wait why the session has ended, and reports whether
// somebody has come since.
func (l *releaseListener) goesOn(useful bool, err error) bool {
	if err != nil && endOf(l.life.ctx) == nil { // beside everything else: it may call the store
		go l.observe.Emit(relay.Event{Kind: relay.EventFailed, Err: wrap("hear of releases", err)})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		for _, r := range l.roles {
			r.wake(err)
		}
		clear(l.roles)
		if !useful {
			l.failure, l.retryAt = err, time.Now().Add(pause.Next(listenAgain, nil))
		}
	}
	if len(l.roles) > 0 {
		return true
	}
	l.runs = nil
	return false
}

// close ends the waits with relay.ErrClosed and closes the session. It returns
// once it is gone, or with ctx's error.
func (l *releaseListener) close(ctx context.Context) error {
	l.life.end() // first: the goroutine looks whether it has ended before it parks
	l.mu.Lock()
	l.closed = true
	runs := l.runs
	l.stir()
	l.mu.Unlock()
	return awaitEnd(ctx, runs)
}
