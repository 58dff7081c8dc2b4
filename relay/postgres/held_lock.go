package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/internal/trust"
)

// goodbye bounds the farewell to a server that may not be there any more.
const goodbye = 100 * time.Millisecond

// heldLock is held until Release, until its session ends, or until the server
// has not answered for TTL − Margin; Lost tells the last two.
//
//	asked           asked + TTL/3        asked + TTL − Margin     asked + TTL
//	  |  parked read  |  ping, answered?   |                        |
//	  |               |  yes: asked moves  | no: the holder steps   | the server
//	  |               |  to its start      |     down               | frees the lock
//
// The keeper is the only one that uses the session, until Release has stopped
// and joined it.
type heldLock struct {
	locker  *Locker
	name    string
	key     int64
	session *session

	lost chan struct{} // closed by markLost
	gone chan struct{} // closed by forget
	kept chan struct{} // closed when the keeper has ended

	refused error // the answer to the keeper's last ping, if it was no

	mu       sync.Mutex    // guards what follows
	asked    trust.Instant // before the last statement that was answered
	cause    error         // why it is lost
	finished bool          // released in good order: too late to be lost

	release  sync.Once // the first Release does it
	released error     // what all of them return
}

func newHeldLock(l *Locker, name string, key int64, s *session, asked trust.Instant) *heldLock {
	return &heldLock{
		locker: l, name: name, key: key, session: s, asked: asked,
		lost: make(chan struct{}), gone: make(chan struct{}), kept: make(chan struct{}),
	}
}

func (h *heldLock) Name() string          { return h.name }
func (h *heldLock) Lost() <-chan struct{} { return h.lost }

// keep watches the session until Release wants it or the lock is lost.
func (h *heldLock) keep() {
	cause := h.watch()
	if cause == nil {
		close(h.kept)
		return
	}
	// Emit comes last: an observer may call Release, which waits for kept.
	first := h.markLost(cause)
	h.session.close(time.Now().Add(goodbye))
	h.locker.forget(h)
	close(h.kept)
	if first {
		h.emitLost()
	}
}

// watch returns nil once somebody wants the session, and else why the lock can
// no longer be relied on.
func (h *heldLock) watch() error {
	for {
		left, err := h.trustLeft()
		if err != nil {
			return err
		}
		// Trust began TTL − Margin before it ends, and the next ping is due
		// TTL/3 after it began.
		due := left - (h.trustFor() - h.locker.cfg.TTL/3)
		if h.refused != nil {
			due = min(left, h.locker.cfg.TTL/30)
		}
		if err := h.session.park(time.Now().Add(due)); err != nil {
			return err
		}
		if h.session.isWanted() {
			return nil
		}
		if err := h.renew(); err != nil {
			return err
		}
	}
}

// renew pings the server. The answer counts from before the question, and only
// if the lock was still good when it came. A ping that the server refuses, to
// pg_cancel_backend say, renews nothing and costs nothing: the session still
// holds the lock.
func (h *heldLock) renew() error {
	left, err := h.trustLeft() // again: the park may have been a long sleep
	if err != nil {
		return err
	}
	asked := trust.Now()
	h.refused = nil
	err = h.session.ping(time.Now().Add(left))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return h.silent(err)
	case err != nil && !h.session.broken:
		h.refused = err
		return nil
	case err != nil:
		return err
	}
	if _, err := h.trustLeft(); err != nil {
		return err
	}
	h.mu.Lock()
	h.asked = asked
	h.mu.Unlock()
	return nil
}

func (h *heldLock) trustFor() time.Duration { return h.locker.cfg.TTL - h.locker.cfg.Margin }

// trustLeft is how long the lock may still be relied on without hearing from
// the server; an error when that is over.
func (h *heldLock) trustLeft() (time.Duration, error) {
	h.mu.Lock()
	since := trust.Now().Since(h.asked)
	h.mu.Unlock()
	if since >= h.trustFor() {
		return 0, h.silent(h.refused)
	}
	return h.trustFor() - since, nil
}

func (h *heldLock) silent(err error) error {
	const text = "the server has not answered for TTL − Margin = %v"
	if err == nil {
		return fmt.Errorf(text, h.trustFor())
	}
	return fmt.Errorf(text+": %w", h.trustFor(), err)
}

// markLost marks the lock as lost, unless it was or has been released. Whoever
// is the first to do so then calls emitLost, holding nothing that a call of the
// observer's could wait for.
func (h *heldLock) markLost(cause error) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil || h.finished {
		return false
	}
	h.cause = cause
	close(h.lost)
	return true
}

func (h *heldLock) emitLost() {
	h.locker.cfg.Observer.Emit(relay.Event{Kind: relay.EventLost, Name: h.name, Err: h.lossError()})
}

// lossError is nil while the lock is not lost.
func (h *heldLock) lossError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil {
		return nil
	}
	return fmt.Errorf("relay/postgres: lock %q: %w: %w", h.name, relay.ErrLost, h.cause)
}

// Release gives the lock up, whatever the state of ctx, within RequestTimeout;
// when it returns nil the server has freed it. If the lock had been lost the
// error matches relay.ErrLost and its cause. Any other error means that the
// server did not answer: the session is closed, and the server frees the lock
// when it notices, after TTL at the latest.
func (h *heldLock) Release(context.Context) error {
	var emit func()
	h.release.Do(func() { emit, h.released = h.giveUp() })
	if emit != nil {
		emit() // comes last: an observer may call Release
	}
	return h.released
}

// giveUp returns what to tell the observer; nil if it knows.
func (h *heldLock) giveUp() (emit func(), err error) {
	began := time.Now()
	until := began.Add(h.locker.cfg.RequestTimeout)
	news, err := h.unlock(until)
	h.session.close(until) // does nothing if the keeper has
	h.locker.forget(h)
	if news == relay.EventLost {
		return h.emitLost, err
	}
	if news == "" {
		return nil, err
	}
	event := relay.Event{Kind: news, Name: h.name, Took: time.Since(began), Err: err}
	return func() { h.locker.cfg.Observer.Emit(event) }, err
}

// unlock takes the session from the keeper and unlocks. A loss that was told
// before is no news.
func (h *heldLock) unlock(until time.Time) (news relay.EventKind, err error) {
	if err := h.stopKeeper(until); err != nil {
		return relay.EventFailed, err
	}
	if _, err := h.trustLeft(); err != nil {
		return h.foundLost(err) // a freeze may have ended just now
	}
	if h.lossError() != nil {
		return h.foundLost(nil)
	}
	held, err := h.unlockSession(until)
	unanswered := errors.Is(err, os.ErrDeadlineExceeded)
	switch {
	case err != nil && h.session.broken && !unanswered:
		return h.foundLost(err) // the session had ended, nobody knows when
	case err == nil && !held:
		return h.foundLost(errors.New("the session did not hold it any more"))
	case !h.finish():
		return h.foundLost(nil) // Close has come in between
	case unanswered: // not lost: it was good when the work was over
		return relay.EventFailed, h.unanswered(err)
	case err != nil:
		return relay.EventFailed, fmt.Errorf("relay/postgres: release of lock %q: %w", h.name, err)
	}
	return relay.EventReleased, nil
}

// foundLost is the outcome of a Release that found a loss. cause is nil if
// somebody else has marked it.
func (h *heldLock) foundLost(cause error) (news relay.EventKind, err error) {
	if cause != nil && h.markLost(cause) {
		news = relay.EventLost
	}
	return news, h.lossError()
}

// unlockSession asks again when the server refuses, to pg_cancel_backend say:
// the session still holds the lock then.
func (h *heldLock) unlockSession(until time.Time) (held bool, err error) {
	for range 3 {
		held, err = h.session.unlock(until, h.key)
		if err == nil || h.session.broken {
			break
		}
	}
	return held, err
}

// stopKeeper waits until the keeper has ended. One that waits for the answer to
// a ping gets it, or has the session cut under it.
func (h *heldLock) stopKeeper(until time.Time) error {
	h.session.wake()
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-h.kept:
		return nil
	case <-timer.C:
	}
	cut := h.finish() // before the cut, which is no loss
	h.session.cut()
	<-h.kept
	if !cut {
		return nil // it is lost
	}
	return h.unanswered(os.ErrDeadlineExceeded)
}

// finish ends the time in which the lock can be lost. false: it is lost.
func (h *heldLock) finish() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.finished = h.cause == nil
	return h.finished
}

func (h *heldLock) unanswered(err error) error {
	return fmt.Errorf("relay/postgres: release of lock %q: no answer within RequestTimeout: %w", h.name, err)
}
