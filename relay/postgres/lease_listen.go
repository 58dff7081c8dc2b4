package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Each has an array of keys as its last argument.
const (
	// registerWaitersSQL also has the roles before them, and tells for which it
	// did. It never waits: where a release is just being committed it fails.
	registerWaitersSQL = `
select c.role, pg_try_advisory_lock_shared(c.key) from unnest($1::text[], $2::int8[]) as c (role, key)`

	unregisterWaitersSQL = "select pg_advisory_unlock_shared(key) from unnest($1::int8[]) as key"
)

// liveRolesSQL has an array of roles as its argument.
const liveRolesSQL = `
select role from relay_leases where role = any($1::text[]) and expires_at > clock_timestamp()`

// listen makes a session and serves those who wait with it, until nobody does
// or the session is lost. heard says that it was worth having: the next one may
// be too, and is opened on demand.
//
// No release is missed. The session listens before it registers anybody, and
// asks whether a role is live after that, in a statement, and so a snapshot, of
// its own: a release that commits before the registration is seen there, and one
// that commits later is notified (see notifyReleasedSQL).
func (l *releaseListener) listen(ctx context.Context) (heard bool, err error) {
	s, err := l.open(ctx)
	if err != nil {
		return false, err
	}
	defer func() { s.close(time.Now().Add(goodbye)) }()
	l.use(s)
	defer l.use(nil)
	for {
		s.rest() // before looking: who comes later wakes it again
		turn, more := l.plan(time.Now())
		if !more {
			return true, nil
		}
		if err := l.life.ended(); err != nil { // whoever closes it later wakes the session
			return heard, err
		}
		if err := l.serve(ctx, s, turn); err != nil {
			return heard || s.broken, err // one that was refused at once would be again
		}
		heard = true
	}
}

// open makes a session that hears notifications.
func (l *releaseListener) open(ctx context.Context) (*session, error) {
	bounded, cancel := context.WithTimeout(ctx, l.source.timeout)
	defer cancel()
	s, err := l.source.open(bounded)
	if err != nil {
		return nil, l.source.overdue(ctx, err)
	}
	if err := l.prepare(bounded, s); err != nil {
		s.close(time.Now().Add(goodbye))
		return nil, l.source.overdue(ctx, err)
	}
	return s, nil
}

// prepare asks who is there before it sets anything, like the Locker's.
func (l *releaseListener) prepare(ctx context.Context, s *session) error {
	until, _ := ctx.Deadline()
	if err := s.identify(ctx, until, false); err != nil {
		return err
	}
	_, err := s.ask(ctx, until, append(sessionSettings(listenTTL, l.timeout), stmt("listen "+notifyChannel))...)
	return err
}

// use says which session is to be woken.
func (l *releaseListener) use(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = s
}

// listenTurn is what the session has to do next.
type listenTurn struct {
	forget   []string       // keys
	register []*awaitedRole // not registered yet
	check    []*awaitedRole // is it live?
	restTill time.Time      // when there is something to do if nothing happens
}

// plan finds out what to do, and whether anybody waits, or has of late.
func (l *releaseListener) plan(now time.Time) (t listenTurn, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.restTill = now.Add(listenTTL)
	for name, r := range l.roles {
		switch forgetAt := r.leftAt.Add(listenLinger); {
		case len(r.waiters) == 0 && !now.Before(forgetAt):
			delete(l.roles, name)
			if r.registered {
				t.forget = append(t.forget, r.key())
			}
		case len(r.waiters) == 0:
			if forgetAt.Before(t.restTill) {
				t.restTill = forgetAt
			}
		case !r.registered:
			t.register = append(t.register, r)
			t.check = append(t.check, r)
			r.unchecked = false
		case r.unchecked:
			t.check = append(t.check, r)
			r.unchecked = false
		}
	}
	return t, len(l.roles) > 0
}

func (r *awaitedRole) key() string {
	return strconv.FormatInt(waitKey(leaseWaitName(r.name)), 10)
}

// serve does it, or waits until there is something to do, and passes on what
// was heard meanwhile. After any error, a refusal included, the registrations
// are not known: close the session.
func (l *releaseListener) serve(ctx context.Context, s *session, t listenTurn) error {
	err := l.askOrRest(ctx, s, t)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, payload := range s.heard {
		if name, ok := strings.CutPrefix(payload, leaseWaitName("")); ok && l.roles[name] != nil {
			l.roles[name].wake(nil)
		}
	}
	s.heard = s.heard[:0]
	return err
}

func (l *releaseListener) askOrRest(ctx context.Context, s *session, t listenTurn) error {
	pingAt := s.usedAt.Add(listenTTL / 3)
	var statements []statement
	if len(t.forget) > 0 {
		statements = append(statements, stmt(unregisterWaitersSQL, array(t.forget)))
	}
	asked := len(statements)
	if len(t.register) > 0 {
		names, keys := namesOf(t.register), make([]string, len(t.register))
		for i, r := range t.register {
			keys[i] = r.key()
		}
		statements = append(statements, stmt(registerWaitersSQL, array(names), array(keys)))
	}
	if len(t.check) > 0 {
		statements = append(statements, stmt(liveRolesSQL, array(namesOf(t.check))))
	}
	now := time.Now()
	if len(statements) == 0 {
		if now.Before(pingAt) {
			return s.park(earlier(t.restTill, pingAt))
		}
		statements = []statement{stmt("select 1")}
	}
	answers, err := s.ask(ctx, now.Add(l.timeout), statements...)
	if err != nil || len(t.check) == 0 {
		return err
	}
	if l.apply(t, answers[asked:]) {
		return nil
	}
	return s.park(time.Now().Add(registerAgain))
}

// apply notes who is registered now and wakes those whose role is free. It
// reports whether all are registered.
func (l *releaseListener) apply(t listenTurn, answers []answer) (all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	registered := make(map[string]bool, len(t.register))
	if len(t.register) > 0 {
		for _, row := range answers[0].rows {
			registered[row[0]] = row[1] == "t"
		}
	}
	live := make(map[string]bool, len(t.check))
	for _, row := range answers[len(answers)-1].rows {
		live[row[0]] = true
	}
	for _, r := range t.register {
		r.registered = registered[r.name]
	}
	all = true
	for _, r := range t.check {
		if !live[r.name] {
			r.wake(nil)
		} else if !r.registered {
			r.unchecked, all = true, false
		}
	}
	return all
}

func namesOf(roles []*awaitedRole) []string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = r.name
	}
	return names
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
