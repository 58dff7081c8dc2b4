package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// openSession opens a session that may hold a lock: known to be a server session
// of its own, on a primary, which frees what it holds within TTL when its client
// falls silent.
func (l *Locker) openSession(ctx context.Context) (*session, error) {
	bounded, cancel := context.WithTimeout(ctx, l.source.timeout)
	defer cancel()
	s, err := l.source.open(bounded)
	if err != nil {
		return nil, l.source.overdue(ctx, err)
	}
	if err := l.setUp(bounded, s); err != nil {
		s.close(time.Now().Add(min(l.cfg.RequestTimeout, time.Second)))
		return nil, l.source.overdue(ctx, err)
	}
	return s, nil
}

// setUp asks who is there before it sets anything: a SET that went through a
// pooler would change the session of somebody else.
func (l *Locker) setUp(ctx context.Context, s *session) error {
	until, _ := ctx.Deadline()
	if err := s.identify(ctx, until, l.cfg.AllowProxy); err != nil {
		return err
	}
	settings := sessionSettings(l.cfg.TTL, l.cfg.RequestTimeout)
	if s.hasNoDeadMan() {
		settings = slices.DeleteFunc(settings, func(st statement) bool { return strings.Contains(st.sql, deadManSetting) })
	}
	_, err := s.ask(ctx, until, append(settings, prepareOps...)...)
	return err
}

// identify refuses what a session lock must not be taken on: a session that a
// pooler shares among clients, unless a proxy is admitted, and a standby.
func (s *session) identify(ctx context.Context, until time.Time, allowProxy bool) error {
	// In a transaction of its own kind: a standby has no serializable ones, and
	// that may be the default.
	answers, err := s.ask(ctx, until, stmt("begin isolation level read committed"),
		stmt("select pg_backend_pid(), pg_is_in_recovery()"), stmt("commit"))
	if err != nil {
		return err
	}
	row := answers[1].rows[0]
	pid, err := strconv.ParseUint(row[0], 10, 32)
	if err != nil {
		return err
	}
	// Two statements through an idle pooler mostly see one pid. The pid that
	// was told at the start of the connection is the pooler's own invention.
	if uint32(pid) != s.pid && !allowProxy {
		return ErrPooled
	}
	s.pid = uint32(pid)
	if row[1] == "t" { // which grants advisory locks, of its own
		return ErrReadOnly
	}
	return nil
}

// deadManSetting came with PostgreSQL 14.
const deadManSetting = "idle_session_timeout"

func (s *session) hasNoDeadMan() bool {
	major, _, _ := strings.Cut(s.version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 14
}

// tellNoDeadMan tells the observer, once for the Locker and beside everything
// else: it may call the Locker. mu is held.
func (l *Locker) tellNoDeadMan(s *session) {
	if l.oldTold || !s.hasNoDeadMan() {
		return
	}
	l.oldTold = true
	go l.cfg.Observer.Emit(relay.Event{
		Kind: relay.EventFailed, Err: fmt.Errorf("%w (it is %s)", ErrNoDeadMan, s.version),
	})
}

// sessionSettings make the session independent of what its role or database
// sets, and free its lock about TTL after the client was last heard of, but not
// before: until TTL − Margin the holder relies on it.
//
// Everything that ends a session or lets a statement wait is here. The rest of
// what can be set reaches no lock: keys travel as digits, and search_path is the
// user's to set.
func sessionSettings(ttl, requestTimeout time.Duration) []statement {
	set := func(name string, value int64) statement {
		return stmt("set " + name + " = " + strconv.FormatInt(value, 10))
	}
	idle, interval, count := keepalives(ttl)
	return []statement{
		set("statement_timeout", millis(requestTimeout*3/4)),
		set("lock_timeout", millis(requestTimeout/2)),
		set("idle_in_transaction_session_timeout", 0),
		// PostgreSQL 17 has it, and ends the session; an older one has no row.
		stmt("select set_config('transaction_timeout', '0', false)" +
			" where current_setting('transaction_timeout', true) is not null"),
		// A serializable, read-only, deferrable default would make a ping wait.
		stmt("set default_transaction_isolation = 'read committed'"),
		set(deadManSetting, millisUp(ttl)), // the dead man's switch
		set("tcp_user_timeout", millisUp(ttl)),
		set("tcp_keepalives_idle", idle),
		set("tcp_keepalives_interval", interval),
		set("tcp_keepalives_count", count),
	}
}

// keepalives returns TCP keepalive settings in seconds whose idle + interval ×
// count is at least ttl, within what Linux allows for each.
func keepalives(ttl time.Duration) (idle, interval, count int64) {
	const maxIdle, maxCount = 32_767, 127
	seconds := int64((ttl + time.Second - 1) / time.Second)
	idle = min(seconds, maxIdle)
	interval, count = 10, 3
	if rest := seconds - idle; rest > interval*count {
		count = maxCount
		interval = max(interval, (rest+count-1)/count)
	}
	return idle, interval, count
}

// millis rounds down, but not to 0, which would mean no limit.
func millis(d time.Duration) int64 { return max(1, d.Milliseconds()) }

// millisUp rounds up.
func millisUp(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
