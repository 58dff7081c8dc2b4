package postgres

import (
	"errors"
	"fmt"
	"time"

	"github.com/relay-samples/relay-go/relay/internal/trust"
)

// registerAgain is how soon a waiter asks again that could not register: a
// release was looking for waiters at that moment, and has told nobody.
const registerAgain = 10 * time.Millisecond

// standBack is for how many round trips the waiters of a process let those of
// others go first, when its release has told them. Else they would always be
// faster: a wake-up takes two.
const standBack = 4

// settle gives a slot the answer to its question. refusal is the server's, for
// what it left open. mu is held.
func (l *Locker) settle(n *line, s *slot, code opCode, refusal error) {
	want := s.want
	s.want, s.sealed, s.backOff = wantNothing, false, 0
	switch {
	case want == wantLock:
		s.registered = code&codeRegistered != 0
		switch {
		case code&codeOpen != 0:
			l.failed(s, refusal)
		case code&codeYes != 0:
			l.granted(n, s)
		default:
			l.denied(s)
		}
	case want == wantUnlock && code&codeOpen != 0:
		l.stillHeld(n, s, refusal)
	case want == wantUnlock:
		l.unlocked(n, s, code)
	default:
		if s.registered = code&codeOpen != 0; s.registered {
			n.refused = refusal
		}
		if len(s.askers) > 0 { // they came meanwhile
			l.push(s, wantLock)
		}
	}
	l.tidy(s)
}

// granted gives the lock to the first who still wants it. If nobody does it goes
// back, and those whom the question covered stay until it has. mu is held.
func (l *Locker) granted(n *line, s *slot) {
	for i, c := range s.askers {
		if c.left != nil {
			continue
		}
		n.held++
		s.lock = &heldLock{locker: l, line: n, slot: s, name: c.name}
		s.askers = append(s.askers[:i], s.askers[i+1:]...)
		c.answer(s.lock, nil)
		s.tell(true)
		return
	}
	l.push(s, wantUnlock)
}

// denied is the answer that somebody else holds the lock. mu is held.
func (l *Locker) denied(s *slot) {
	tries := s.tell(false)
	first := s.waiter()
	switch {
	case len(s.askers) == 0:
	case tries, !s.registered && s.op != opRegister:
		l.push(s, wantLock)
	default:
		if !s.registered {
			s.backOff = registerAgain
		}
		first.look()
	}
}

// failed is for a question that the server refused to answer. Those who came
// after it ask for themselves. mu is held.
func (l *Locker) failed(s *slot, refusal error) {
	rest := s.askers[:0]
	for _, c := range s.askers {
		switch {
		case c.left != nil:
			c.answer(nil, c.left)
		case c.asked:
			c.answer(nil, wrap(fmt.Sprintf("lock %q", c.name), refusal))
		default:
			rest = append(rest, c)
		}
	}
	clear(s.askers[len(rest):])
	if s.askers = rest; len(rest) > 0 {
		l.push(s, wantLock)
	}
}

// unlocked is the answer to an unlock. mu is held.
func (l *Locker) unlocked(n *line, s *slot, code opCode) {
	lock, releaser := s.lock, s.releaser
	s.lock, s.releaser = nil, nil
	lost := lock != nil && code&codeYes == 0 && lock.markLost(errors.New("the session did not hold it any more"))
	if releaser != nil {
		releaser.sole = lost
		releaser.answer(nil, lock.finish())
	}
	if tries := s.tell(false); tries || len(s.askers) > 0 && code&codeTold == 0 {
		l.push(s, wantLock)
		return
	}
	if first := s.waiter(); first != nil {
		s.tried = time.Now()
		s.backOff = max(1, min(standBack*trust.Now().Since(n.sent), l.cfg.RetryInterval))
		first.look()
	}
}

// stillHeld is for an unlock that the server has refused again and again. Its
// caller is told; the keeper goes on trying, since nobody else will. mu is held.
func (l *Locker) stillHeld(n *line, s *slot, refusal error) {
	if s.releaser != nil {
		s.releaser.answer(nil, s.lock.refused(refusal))
		s.releaser = nil
	}
	s.tell(false) // those who have left need not stay for that
	n.refused = refusal
	l.push(s, wantUnlock)
}
