package postgres

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// heldLock is held until Release, until its session ends, or until the server
// has not answered for TTL − Margin; Lost tells the last two.
type heldLock struct {
	locker *Locker
	line   *line
	slot   *slot
	name   string

	release  sync.Once // the first Release does it
	released error     // what all of them return

	// The Locker's mu guards what follows.
	lost  chan struct{} // made by the first Lost
	cause error         // why it is lost
	over  bool          // given up in good order: too late to be lost
}

func (h *heldLock) Name() string { return h.name }

func (h *heldLock) Lost() <-chan struct{} {
	h.locker.mu.Lock()
	defer h.locker.mu.Unlock()
	if h.lost == nil {
		h.lost = make(chan struct{})
		if h.cause != nil {
			close(h.lost)
		}
	}
	return h.lost
}

// markLost reports whether the lock was still good. mu is held.
func (h *heldLock) markLost(cause error) bool {
	if h.cause != nil || h.over {
		return false
	}
	h.cause = cause
	if h.lost != nil {
		close(h.lost)
	}
	return true
}

// finish ends the time in which the lock can be lost, or says that it is. mu is
// held.
func (h *heldLock) finish() error {
	h.over = h.cause == nil
	return h.lossError()
}

// lossError is nil while the lock is not lost. mu is held, or it is lost.
func (h *heldLock) lossError() error {
	if h.cause == nil {
		return nil
	}
	return fmt.Errorf("relay/postgres: lock %q: %w: %w", h.name, relay.ErrLost, h.cause)
}

func (h *heldLock) emitLost() {
	h.locker.cfg.Observer.Emit(relay.Event{Kind: relay.EventLost, Name: h.name, Err: h.lossError()})
}

// Release gives the lock up, whatever the state of ctx, within RequestTimeout;
// when it returns nil the server has freed it. If the lock had been lost the
// error matches relay.ErrLost and its cause. Any other error means that the
// server did not say that it is free: the Locker goes on asking, and the server
// frees it at TTL after it was last heard of, at the latest.
func (h *heldLock) Release(context.Context) error {
	var event relay.Event
	h.release.Do(func() { event, h.released = h.giveUp() })
	if event.Kind != "" {
		h.locker.cfg.Observer.Emit(event) // last: an observer may call Release
	}
	return h.released
}

// giveUp also returns what to tell the observer. A loss that was told is no
// news, nor one of the whole session, which its keeper tells.
func (h *heldLock) giveUp() (event relay.Event, err error) {
	began := time.Now()
	l := h.locker
	c := l.callers.Get().(*caller)
	defer l.recycle(c)
	if err := h.startUnlock(c); err != nil {
		return event, err
	}
	l.awaitUnlock(c, h)
	event = relay.Event{Kind: relay.EventReleased, Name: h.name, Took: time.Since(began), Err: c.err}
	switch {
	case c.sole:
		event.Kind = relay.EventLost
	case h.isLost():
		event.Kind = ""
	case c.err != nil:
		event.Kind = relay.EventFailed
	}
	return event, c.err
}

func (h *heldLock) isLost() bool {
	h.locker.mu.Lock()
	defer h.locker.mu.Unlock()
	return h.cause != nil
}

// startUnlock queues the unlock, unless the lock is lost.
func (h *heldLock) startUnlock(c *caller) error {
	l := h.locker
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := h.line.trustLeft(); err != nil && h.line.cause == nil {
		l.lose(h.line, err) // a freeze has ended just now
		h.line.hangUp(0)
	}
	if h.cause != nil {
		return h.lossError()
	}
	c.name, c.slot, c.until = h.name, h.slot, time.Now().Add(l.cfg.RequestTimeout)
	h.slot.releaser = c
	if h.line.held--; h.line.held == 0 && h.line.stuck { // nothing to lose any more
		h.line.shorten(c.until)
	}
	l.push(h.slot, wantUnlock)
	l.getGoing(c)
	return nil
}

// awaitUnlock returns once the caller is answered, after RequestTimeout at the
// latest. The question goes on without it then.
func (l *Locker) awaitUnlock(c *caller, h *heldLock) {
	for !l.turn(c) {
		c.timer.Reset(time.Until(c.until))
		select {
		case <-c.signal:
		case <-c.timer.C:
			l.mu.Lock()
			if !c.done {
				h.slot.releaser = nil
				c.answer(nil, h.unanswered())
			}
			l.mu.Unlock()
		}
		c.timer.Stop()
	}
}

// unanswered gives up on an unlock, whose lock was good when the work was over.
// mu is held.
func (h *heldLock) unanswered() error {
	h.over = true
	return fmt.Errorf("relay/postgres: release of lock %q: no answer within RequestTimeout: %w", h.name, os.ErrDeadlineExceeded)
}

// refused gives up on an unlock that the server has refused. mu is held.
func (h *heldLock) refused(err error) error {
	h.over = true
	return wrap(fmt.Sprintf("release of lock %q", h.name), err)
}
