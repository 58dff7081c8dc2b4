package postgres

import (
	"fmt"
	"slices"
	"time"
)

// slot is a key that this Locker holds, asks for or waits for. Session locks
// are re-entrant, so a slot sends one question at a time and none while it
// holds: the server would grant a second one too. The Locker's mu guards it.
//
// Names that share a key share its slot, and exclude each other here as they do
// everywhere.
type slot struct {
	key      int64
	lock     *heldLock // held, until the server has answered its unlock
	releaser *caller   // waits for the answer to the unlock; nil: nobody does
	askers   []*caller // who wants the lock, in the order in which they came

	want       want   // queued, or sent if sealed
	op         opKind // how it was sent
	sealed     bool   // its question is on the way to the server
	registered bool   // the session holds the key in the space of waiters

	tried   time.Time     // when the lock was last asked for, or told to others
	backOff time.Duration // how long from then on those who wait stand back; 0: for RetryInterval
}

// want is what a slot wants of the server.
type want uint8

const (
	wantNothing want = iota
	wantLock
	wantUnlock
	wantLeave // to be a waiter no more
)

// enter puts a caller into the table, or says at once why not.
func (l *Locker) enter(c *caller) error {
	key := LockKey(c.name)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed("lock")
	}
	s := l.slots[key]
	switch {
	case s == nil && l.names() >= l.cfg.MaxHeld:
		return fmt.Errorf("%w (MaxHeld = %d)", ErrTooMany, l.cfg.MaxHeld)
	case s == nil:
		s = l.newSlot(key)
	case s.lock != nil && !c.waits:
		return c.refused()
	}
	c.slot = s
	s.askers = append(s.askers, c)
	if s.lock == nil && (s.want == wantNothing || s.want == wantLeave && !s.sealed) {
		l.push(s, wantLock)
	}
	l.getGoing(c)
	return nil
}

// names counts those that are held or awaited. Slots that only have to leave the
// waiters are no longer any. mu is held.
func (l *Locker) names() int {
	n := len(l.slots)
	if n < l.cfg.MaxHeld {
		return n
	}
	for _, s := range l.slots {
		if s.want == wantLeave && len(s.askers) == 0 {
			n--
		}
	}
	return n
}

// maxSpare bounds the slots that are kept for later.
const maxSpare = 128

// newSlot makes one, or takes a spare one. mu is held.
func (l *Locker) newSlot(key int64) *slot {
	var s *slot
	if last := len(l.spare) - 1; last >= 0 {
		s, l.spare = l.spare[last], l.spare[:last]
	} else {
		s = new(slot)
	}
	s.key = key
	l.slots[key] = s
	return s
}

// drop takes a slot out of the table. Nobody uses it any more: who held it or
// asked for it has been answered. mu is held.
func (l *Locker) drop(s *slot) {
	delete(l.slots, s.key)
	if len(l.spare) < maxSpare {
		*s = slot{askers: s.askers[:0]}
		l.spare = append(l.spare, s)
	}
}

// push queues what a slot wants, unless it is queued already. mu is held.
func (l *Locker) push(s *slot, w want) {
	if s.want == wantNothing {
		l.queue = append(l.queue, s)
	}
	s.want = w
}

// getGoing sees to it that somebody asks the server for what is queued: the
// keeper if it has the session or c is nil, else c. mu is held.
func (l *Locker) getGoing(c *caller) {
	if len(l.queue) == 0 || l.closed {
		return
	}
	switch n := l.line; {
	case n == nil:
		l.startLine()
	case n.parked:
		n.unpark()
	case !n.busy && c == nil: // the keeper looks every now and then
	case !n.busy:
		n.busy = true
		c.leads = n
	}
}

// tick lets all those ask who wait and are due, in one round trip. mu is held.
func (l *Locker) tick(now time.Time) {
	for _, s := range l.slots {
		if s.idle() && s.backOff == 0 && s.waiter() != nil && now.Sub(s.tried) >= l.cfg.RetryInterval/2 {
			l.push(s, wantLock)
		}
	}
}

// idle says that nothing is held and nothing under way. mu is held.
func (s *slot) idle() bool { return s.lock == nil && s.want == wantNothing }

// waiter is the first of those who wait, and the one to ask again in time. mu
// is held.
func (s *slot) waiter() *caller {
	for _, c := range s.askers {
		if c.waits && c.left == nil {
			return c
		}
	}
	return nil
}

// tell answers those who need not wait any longer for a lock that is held: who
// has left; and of those who only try, whom the question covered, or all. It
// says whether any is left who tries. mu is held.
func (s *slot) tell(all bool) (tries bool) {
	rest := s.askers[:0]
	for _, c := range s.askers {
		switch {
		case c.left != nil:
			c.answer(nil, c.left)
		case !c.waits && (all || c.asked):
			c.answer(nil, c.refused())
		default:
			rest = append(rest, c)
			tries = tries || !c.waits
		}
	}
	clear(s.askers[len(rest):])
	s.askers = rest
	return tries
}

// freed is the news that a slot's lock may be had. No question is on its way then:
// what is heard beside an answer is taken after it. mu is held.
func (l *Locker) freed(s *slot) {
	if s.idle() && len(s.askers) > 0 {
		l.push(s, wantLock)
	}
}

// tidy queues or removes what a slot needs no more. mu is held.
func (l *Locker) tidy(s *slot) {
	switch {
	case !s.idle() || len(s.askers) > 0:
	case s.registered:
		l.push(s, wantLeave)
	default:
		l.drop(s)
	}
}

// leave takes a caller out of its slot. mu is held.
func (l *Locker) leave(c *caller) {
	s := c.slot
	if at := slices.Index(s.askers, c); at >= 0 {
		s.askers = slices.Delete(s.askers, at, at+1)
	}
	if len(s.askers) == 0 && s.want == wantLock && !s.sealed {
		at := slices.Index(l.queue, s)
		l.queue = slices.Delete(l.queue, at, at+1)
		s.want = wantNothing
	}
	if next := s.waiter(); next != nil {
		next.look()
	}
	l.tidy(s)
}
