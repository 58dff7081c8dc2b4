package postgres

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"time"
)

// Leader and followers: whoever finds the session free asks the server for all
// that is queued, in one statement, while the others wait for their answers.
// What is queued meanwhile is for the next leader, one of those who wait. So a
// thousand callers cost one connection and few round trips, and one caller no
// goroutine between it and the socket.
//
// No caller's context reaches the session: a statement that is cut short would
// cost the locks of everybody.

// maxBatch bounds a statement, and with it how long others wait for it and how
// much of the server's lock table its look for waiters takes.
const maxBatch = 1000

// lead asks the server once for what is queued, and passes the lead on. The
// caller has it: n.busy is set. It waits for the answer until RequestTimeout is
// over, or until is, if that is not zero.
func (l *Locker) lead(n *line, until time.Time) {
	if n.crowd { // let those come who were answered just now
		runtime.Gosched()
	}
	l.mu.Lock()
	sealed := l.seal(n, until)
	l.mu.Unlock()
	if sealed {
		l.conclude(n, n.askOps())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passOn(n)
}

// passOn hands the lead to one of those whose questions are queued. What nobody
// waits for is left to the keeper. mu is held.
func (l *Locker) passOn(n *line) {
	if n.stuck || n.cause != nil {
		n.busy = n.stuck
		n.nudge()
		return
	}
	for _, s := range l.queue {
		if s.releaser.takeLead(n) || s.lock == nil && slices.ContainsFunc(s.askers, func(c *caller) bool { return c.takeLead(n) }) {
			return
		}
	}
	n.busy = false
}

// takeLead gives the caller the lead, if there is one who can take it: who is in
// a callback of the user's can't, nor who has yet to pass on the lead of a session
// that was lost. mu is held.
func (c *caller) takeLead(n *line) bool {
	if c == nil || c.away || c.leads != nil {
		return false
	}
	c.leads = n
	c.look()
	return true
}

// seal takes the next batch from the queue. false: there is nothing to send, or
// nothing to send it on. mu is held.
func (l *Locker) seal(n *line, until time.Time) bool {
	if n.cause != nil {
		return false
	}
	left, err := n.trustLeft()
	if err != nil {
		l.lose(n, err)
		return false
	}
	size := min(len(l.queue), maxBatch)
	if size == 0 {
		return false
	}
	now := time.Now()
	n.batch, n.ops = n.batch[:0], n.ops[:0]
	for _, s := range l.queue[:size] {
		n.batch = append(n.batch, s)
		n.ops = append(n.ops, op{kind: s.seal(now, now.Before(n.quiet)), key: s.key})
	}
	l.queue = slices.Delete(l.queue, 0, size)
	n.crowd, n.sealed = size > 1, now
	patience := min(left, l.cfg.RequestTimeout)
	if until.IsZero() {
		until = now.Add(patience)
	}
	n.limit(min(patience, max(until.Sub(now), 0)), patience)
	return true
}

// seal says how to ask for what the slot wants. mu is held.
func (s *slot) seal(now time.Time, quiet bool) opKind {
	s.sealed = true
	switch s.want {
	case wantUnlock:
		s.op = opUnlock
		if quiet {
			s.op = opUnlockQuietly
		}
	case wantLeave:
		s.op = opLeave
	default:
		s.op, s.tried = opTry, now
		for _, c := range s.askers {
			if c.waits && c.asked { // who was refused before
				s.op = opRegister
			}
			c.asked = true
		}
		if s.registered {
			s.op = opTryRegistered
		}
	}
	return s.op
}

// conclude takes what came of a batch. What is not clear takes time, which the
// keeper has. The caller has the lead.
func (l *Locker) conclude(n *line, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.stuck = false
	switch {
	case n.cause != nil: // everybody has been told
	case n.broken:
		l.unanswered(n, err)
	case err != nil:
		n.stuck, n.refusal = true, err
	default:
		l.settleAll(n, nil)
	}
}

// unanswered is for a batch without an answer. The keeper goes on waiting: for
// RequestTimeout; and while something is held, whose loss it would be to give up,
// until the locks can't be relied on any more. mu is held.
func (l *Locker) unanswered(n *line, err error) {
	left, over := n.answerDue()
	switch {
	case over != nil:
		l.lose(n, over)
	case left <= 0 || !n.written || !errors.Is(err, os.ErrDeadlineExceeded):
		l.lose(n, err)
	default:
		n.stuck = true
	}
}

// answerDue is how long the answer to the last batch may still take. mu is held.
func (n *line) answerDue() (time.Duration, error) {
	left, err := n.trustLeft()
	if n.held == 0 {
		left = n.locker.cfg.RequestTimeout - time.Since(n.sealed)
	}
	return left, err
}

// settleAll gives the answers to those who asked. Trust counts from before the
// question, and only if all was still good when the answer came: this process may
// have been frozen in between. mu is held.
func (l *Locker) settleAll(n *line, refusal error) {
	_, over := n.trustLeft()
	if over == nil {
		_, over = n.leftSince(n.sent) // with nothing held yet: a grant is no good either
	}
	if over != nil {
		l.lose(n, over)
		return
	}
	n.asked, n.refused = n.sent, nil
	for i, s := range n.batch {
		l.settle(n, s, n.codes[i], refusal)
	}
	l.hear(n)
}

// hear takes the notifications that came in between. mu is held.
func (l *Locker) hear(n *line) {
	if n.cause != nil {
		return
	}
	for _, payload := range n.session.heard {
		if s := l.slots[parseKey(payload)]; s != nil {
			l.freed(s)
		}
	}
	n.session.heard = n.session.heard[:0]
}
