package postgres

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/relay-samples/relay-go/relay/internal/trust"
)

const (
	// idleAfter is how long a session is left alone before its keeper parks a
	// read on it. One that parked at once would have to be woken for each
	// statement, which costs a fifth of the rate.
	idleAfter = 2 * time.Millisecond

	// goodbye bounds the farewell to a server that may not be there any more.
	goodbye = 100 * time.Millisecond

	// maxReopen bounds the pause after an opening that failed.
	maxReopen = time.Second
)

// errIdle is why a session ends that nobody has used.
var errIdle = errors.New("idle")

// errGoexit is why there is none: BeforeConnect has called runtime.Goexit, as
// testing's FailNow does.
var errGoexit = errors.New("a callback has called runtime.Goexit")

// line is a session that may hold locks, from its opening to its end, and the
// answer to whether they can still be relied on:
//
//	asked           asked + TTL/3        asked + TTL − Margin     asked + TTL
//	  |  parked read  |  ping, answered?   |                        |
//	  |               |  yes: asked moves  | no: the holders step   | the server
//	  |               |  to its start      |     down               | frees the locks
//
// Whoever has set busy is the only one that uses the session.
type line struct {
	locker *Locker
	*session
	wire
	nudged chan struct{} // has room for one: the keeper is to look

	// Used by whoever is busy.
	sent    trust.Instant // before the last question
	sealed  time.Time     // when the last batch was
	batch   []*slot       // one for each of ops
	crowd   bool          // the last batch had more than one
	refusal error         // the server's, of the last batch; the keeper is to find out more
	refused error         // the answer to the last ping or unlock, if it was no
	quiet   time.Time     // until then releases notify nobody

	// The Locker's mu guards what follows.
	busy   bool          // somebody uses the session, or opens it
	parked bool          // it is the keeper, and only reads
	stuck  bool          // the last batch is the keeper's to see to
	asked  trust.Instant // before the last question that was answered
	held   int           // locks that nobody is giving back
	cause  error         // why it is over; nothing is held any more
	lost   []*heldLock   // whose holders have to be told
}

// startLine opens a session, whose keeper leads first. mu is held.
func (l *Locker) startLine() {
	n := &line{locker: l, busy: true, nudged: make(chan struct{}, 1)}
	l.line = n
	l.keepers.Add(1)
	go l.keep(n)
}

// unpark takes the session from the keeper, who then asks what is queued. mu is
// held.
func (n *line) unpark() {
	n.parked = false
	n.wake()
}

func (n *line) nudge() {
	select {
	case n.nudged <- struct{}{}:
	default:
	}
}

func (n *line) trustFor() time.Duration { return n.locker.cfg.TTL - n.locker.cfg.Margin }

// trustLeft is how long the locks may still be relied on without hearing from
// the server; an error when that is over. mu is held.
func (n *line) trustLeft() (time.Duration, error) {
	if n.held == 0 {
		return n.trustFor(), nil
	}
	return n.leftSince(n.asked)
}

func (n *line) leftSince(asked trust.Instant) (time.Duration, error) {
	since := trust.Now().Since(asked)
	if since < n.trustFor() {
		return n.trustFor() - since, nil
	}
	const text = "the server has not answered for TTL − Margin = %v"
	if n.refused == nil {
		return 0, fmt.Errorf(text, n.trustFor())
	}
	return 0, fmt.Errorf(text+": %w", n.trustFor(), n.refused)
}

// lose ends a session. All its locks are lost; those who wait are told why, and
// those whose question was not sent yet ask on a new one. mu is held.
func (l *Locker) lose(n *line, cause error) {
	if n.cause != nil {
		return
	}
	n.cause = cause
	if l.line == n {
		l.line = nil
	}
	n.nudge()
	l.queue = l.queue[:0]
	for _, s := range l.slots {
		here := s.lock != nil
		if here {
			n.loseLock(s)
		}
		*s = slot{key: s.key, askers: s.askers, tried: s.tried}
		l.disperse(s, cause, here || n.session == nil)
		if len(s.askers) > 0 {
			l.push(s, wantLock)
		}
		l.tidy(s)
	}
	l.getGoing(nil)
}

// loseLock tells the holder, or who is about to give the lock up. For the latter
// it is no loss that the server was too slow: the lock was good when the work was
// over. mu is held.
func (n *line) loseLock(s *slot) {
	lock, releaser := s.lock, s.releaser
	switch {
	case releaser != nil && errors.Is(n.cause, os.ErrDeadlineExceeded):
		releaser.answer(nil, lock.unanswered())
		return
	case lock.markLost(n.cause):
		n.lost = append(n.lost, lock)
	}
	if releaser != nil {
		releaser.answer(nil, lock.finish())
	}
}

// hangUp gets the session back from whoever uses it, if that is not whoever found
// the loss. mu is held.
func (n *line) hangUp(within time.Duration) {
	if n.session == nil { // the opening ends with the Locker's life
		return
	}
	n.hurry(time.Now().Add(within))
	if n.parked {
		n.unpark()
	}
}

// disperse answers those whose wait has come to nothing: all, or those who were
// asked for. mu is held.
func (l *Locker) disperse(s *slot, cause error, all bool) {
	rest := s.askers[:0]
	for _, c := range s.askers {
		switch {
		case l.closed:
			c.answer(nil, errClosed("lock"))
		case c.left != nil:
			c.answer(nil, c.left)
		case all || c.asked:
			c.answer(nil, wrap(fmt.Sprintf("lock %q", c.name), cause))
		default:
			rest = append(rest, c)
		}
	}
	clear(s.askers[len(rest):])
	s.askers = rest
}
