package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// caller is a goroutine inside a call of the Locker's. It waits for signal, and
// then looks again at what the Locker's mu guards.
type caller struct {
	signal chan struct{} // has room for one
	timer  *time.Timer   // stopped while nobody waits for it
	name   string
	waits  bool // Acquire

	// The Locker's mu guards what follows.
	slot  *slot
	asked bool      // a question that covers it was sent
	left  error     // its context has ended: what comes now is given back
	away  bool      // in a callback of the user's: it can't lead
	until time.Time // it waits for no answer for longer, if it releases; its own
	leads *line     // it is its turn to ask this session for everybody
	done  bool      // the rest is valid
	lock  *heldLock // nil if err is not
	err   error
	sole  bool // what it gave up was lost, and nothing else
}

func newCaller() any {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &caller{signal: make(chan struct{}, 1), timer: timer}
}

// recycle takes back a caller that nobody can signal any more.
func (l *Locker) recycle(c *caller) {
	select {
	case <-c.signal:
	default:
	}
	*c = caller{signal: c.signal, timer: c.timer}
	l.callers.Put(c)
}

func (c *caller) look() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// answer ends the caller's wait. mu is held.
func (c *caller) answer(lock *heldLock, err error) {
	if c.done {
		return
	}
	c.done, c.lock, c.err = true, lock, err
	c.look()
}

func (c *caller) refused() error {
	return fmt.Errorf("relay/postgres: lock %q is held: %w", c.name, relay.ErrNotAcquired)
}

// await returns once the caller is answered. It leads when it is its turn.
func (l *Locker) await(ctx context.Context, c *caller) {
	ended := ctx.Done()
	for !l.turn(c) {
		l.setTick(c)
		select {
		case <-c.signal:
		case <-ended:
			ended = nil
			l.letGo(c, endOfCaller(ctx))
		case <-c.timer.C:
			l.askAgain(c)
		}
		c.timer.Stop()
	}
}

// turn leads for as long as it is the caller's turn, and says whether the caller
// is answered.
func (l *Locker) turn(c *caller) (done bool) {
	for {
		l.mu.Lock()
		n, done := c.leads, c.done
		c.leads = nil
		l.mu.Unlock()
		if n == nil {
			return done
		}
		l.lead(n, c.until)
	}
}

// ticks says whether it is for this caller to ask again in time. mu is held.
func (c *caller) ticks() bool {
	return !c.done && c.slot.idle() && c.slot.waiter() == c
}

// setTick sets the time of the next try, if it is this caller's to make. To draw
// it calls the user's Jitter, so it holds nothing then.
func (l *Locker) setTick(c *caller) {
	l.mu.Lock()
	c.away = c.ticks() && c.leads == nil
	away := c.away
	l.mu.Unlock()
	if !away {
		return
	}
	wait := l.cfg.wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	c.away = false
	if c.slot.backOff > 0 {
		wait = c.slot.backOff
	}
	c.timer.Reset(max(wait-time.Since(c.slot.tried), 0))
}

func (l *Locker) askAgain(c *caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.ticks() {
		l.tick(time.Now())
		l.push(c.slot, wantLock)
		l.getGoing(c)
	}
}

// letGo is for a caller whose context has ended. While a question that covers
// it is under way it has to stay, to give back what the answer may bring.
func (l *Locker) letGo(c *caller, end error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.done {
		return
	}
	c.left = endedCall(c.name, c.waits, end)
	if s := c.slot; s.sealed && s.want == wantLock && c.asked {
		return
	}
	c.answer(nil, c.left)
	l.leave(c)
	l.getGoing(nil) // it may have been the last to wait
}

// abandon gives up for a caller that a panic of the user's unwinds.
func (l *Locker) abandon(c *caller) {
	l.mu.Lock()
	c.away = false
	l.mu.Unlock()
	l.letGo(c, context.Canceled)
	l.await(context.Background(), c)
	if c.lock != nil {
		_ = c.lock.Release(context.Background())
	}
}
