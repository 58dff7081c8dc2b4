package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/internal/pause"
	"github.com/relay-samples/relay-go/relay/internal/trust"
)

// keep opens a session and keeps it: parks a read on it while nobody asks
// anything, pings the server, and says goodbye at the end.
func (l *Locker) keep(n *line) {
	defer l.tellLost(n) // last: an observer may call the Locker, Close too
	defer l.keepers.Done()
	returned := false
	defer func() {
		if !returned { // a callback of the user's has ended the goroutine
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lose(n, errGoexit)
		}
	}()
	opened := l.open(n)
	if returned = true; !opened {
		return
	}
	l.lead(n, time.Time{})
	for l.tend(n) {
	}
	until := time.Now().Add(goodbye)
	if errors.Is(n.cause, relay.ErrClosed) || errors.Is(n.cause, errIdle) {
		until = n.within(time.Now().Add(l.cfg.RequestTimeout))
	}
	n.close(until)
}

// tellLost tells the observer, once, of the locks that went with a session.
func (l *Locker) tellLost(n *line) {
	l.mu.Lock()
	lost := n.lost
	n.lost = nil
	l.mu.Unlock()
	for _, lock := range lost {
		lock.emitLost()
	}
}

// open waits out the pause after a failure, in which others who come join, and
// opens the session. false: everybody has been told why not.
func (l *Locker) open(n *line) bool {
	l.mu.Lock()
	timer := time.NewTimer(time.Until(l.reopenAt))
	l.mu.Unlock()
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.life.ctx.Done():
		return false
	}
	s, err := l.openSession(l.life.ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		n.session, n.asked = s, trust.Now()
		l.tellNoDeadMan(s)
		return true
	case n.cause == nil:
		l.reopenAt = time.Now().Add(pause.Next(min(l.cfg.RetryInterval/10, maxReopen), nil))
		l.lose(n, err)
	}
	return false
}

// tend does what there is for the keeper to do. false: the session is over.
func (l *Locker) tend(n *line) (more bool) {
	l.mu.Lock()
	switch {
	case n.stuck:
		l.mu.Unlock()
		l.waitOn(n)
	case n.cause != nil && !n.busy:
		l.mu.Unlock()
		return false
	case n.busy || time.Since(n.usedAt) < idleAfter:
		l.mu.Unlock()
		n.nap()
	default:
		n.busy = true
		l.mu.Unlock()
		l.useIdle(n)
	}
	return true
}

// nap ends when the keeper is wanted, or when the session may have become idle.
func (n *line) nap() {
	timer := time.NewTimer(idleAfter)
	defer timer.Stop()
	select {
	case <-n.nudged:
	case <-timer.C:
	}
}

// waitOn sees to a batch that is not clear: goes on waiting for the answer, or
// finds out what was done of what the server refused.
func (l *Locker) waitOn(n *line) {
	l.mu.Lock()
	refusal := n.refusal
	n.refusal, n.limited = nil, time.Time{}
	left, _ := n.answerDue()
	over := n.cause != nil
	switch {
	case over: // everybody has been told
		n.stuck = false
	case refusal == nil:
		n.limit(left, left)
	}
	l.mu.Unlock()
	switch {
	case over:
	case refusal == nil:
		l.conclude(n, n.receive())
	default:
		l.clear(n, refusal, n.reconcile(refusal))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passOn(n)
}

// clear takes what reconcile has found out.
func (l *Locker) clear(n *line, refusal, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.stuck = false
	switch {
	case n.cause != nil:
	case n.broken:
		l.lose(n, err)
	default:
		if isCode(refusal, codeLockTimeout) { // somebody's NOTIFY hangs, and may go on
			n.quiet = time.Now().Add(l.cfg.RequestTimeout)
		}
		l.settleAll(n, err)
	}
}

// useIdle has the lead, and nobody has anything to ask.
func (l *Locker) useIdle(n *line) {
	l.mu.Lock()
	due := n.untilPing()
	switch {
	case n.cause != nil: // it was lost, or the Locker closed, just before
	case len(l.queue) > 0 && (n.refused == nil || due <= 0): // what nobody waits for
		l.mu.Unlock()
		l.lead(n, time.Time{})
		return
	case due > 0:
		if l.park(n, due); len(l.queue) > 0 && n.cause == nil {
			l.mu.Unlock()
			l.lead(n, time.Time{})
			return
		}
	case len(l.slots) == 0: // since TTL/3
		n.cause, l.line = errIdle, nil
	default:
		l.ping(n)
	}
	l.passOn(n)
	l.mu.Unlock()
}

// untilPing is the time until the server has to hear something. A ping that it
// has refused is tried again sooner. mu is held.
func (n *line) untilPing() time.Duration {
	ttl := n.locker.cfg.TTL
	if n.refused != nil {
		return ttl/30 - trust.Now().Since(n.sent)
	}
	return ttl/3 - trust.Now().Since(n.asked)
}

// park reads until somebody wants the session, a notification comes, the session
// ends or d has passed. mu is held, but not meanwhile.
func (l *Locker) park(n *line, d time.Duration) {
	n.rest()
	n.parked = true
	n.limited = time.Time{} // it sets a deadline of its own
	l.mu.Unlock()
	err := n.session.park(time.Now().Add(d))
	l.mu.Lock()
	n.parked = false
	if err != nil {
		l.lose(n, err)
	}
	l.hear(n)
}

// ping restarts the server's idle clock. A ping that the server refuses, to
// pg_cancel_backend say, renews nothing and costs nothing: the session still
// holds the locks. mu is held, but not meanwhile.
func (l *Locker) ping(n *line) {
	left, err := n.trustLeft() // the park may have been a long sleep
	if err != nil {
		l.lose(n, err)
		return
	}
	if n.held == 0 {
		left = l.cfg.RequestTimeout
	}
	sql, listening := "select 1", n.listening
	if listening && !l.anybodyWaits() {
		sql, listening = "unlisten "+notifyChannel, false
	}
	l.mu.Unlock()
	n.sent, n.limited = trust.Now(), time.Time{}
	_, err = n.ask(context.Background(), time.Now().Add(left), stmt(sql))
	l.mu.Lock()
	_, over := n.trustLeft()
	switch {
	case n.cause != nil:
	case over != nil:
		l.lose(n, over)
	case err != nil && n.broken:
		l.lose(n, err)
	case err != nil:
		n.refused = err
	default:
		n.asked, n.refused, n.listening = n.sent, nil, listening
	}
	l.hear(n)
}

func (l *Locker) anybodyWaits() bool {
	for _, s := range l.slots {
		if s.waiter() != nil {
			return true
		}
	}
	return false
}
