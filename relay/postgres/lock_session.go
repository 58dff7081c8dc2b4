package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/relay-samples/relay-go/relay/internal/trust"
)

// openSession opens a session that may hold a lock: known to be a server
// session of its own, on a primary, which frees what it holds within TTL when
// its client falls silent. Nothing is held yet, so ctx may interrupt it at any
// point.
func (l *Locker) openSession(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, l.source.timeout)
	defer cancel()
	s, err := l.source.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.prepare(ctx, s); err != nil {
		s.close(time.Now().Add(l.grace()))
		return nil, err
	}
	return s, nil
}

// prepare asks who is there before it sets anything: a SET that went through a
// pooler would change the session of somebody else.
func (l *Locker) prepare(ctx context.Context, s *session) error {
	until, _ := ctx.Deadline()
	answers, err := s.ask(ctx, until, stmt("select pg_backend_pid(), pg_is_in_recovery()"))
	if err != nil {
		return err
	}
	pid, standby := answers[0].rows[0][0], answers[0].rows[0][1]

	// Two statements through an idle pooler mostly see one pid. The pid that
	// was told at the start of the connection is the pooler's own invention.
	if pid != strconv.FormatUint(uint64(s.pid), 10) && !l.cfg.AllowProxy {
		return ErrPooled
	}
	if standby == "t" { // which grants advisory locks, of its own
		return ErrReadOnly
	}
	_, err = s.ask(ctx, until, sessionSettings(l.cfg.TTL, l.cfg.RequestTimeout)...)
	return err
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
		set("idle_session_timeout", millisUp(ttl)), // the dead man's switch
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

// tryLock asks for the key once. asked is the moment before the question, from
// which the holder's trust runs. Without an answer the lock may be held by the
// session: close it.
func (s *session) tryLock(ctx context.Context, until time.Time, key int64) (granted bool, asked trust.Instant, err error) {
	asked = trust.Now() // before the call: a slow reply must not lengthen the trust
	answers, err := s.ask(ctx, until, stmt("select pg_try_advisory_lock($1::int8)", strconv.FormatInt(key, 10)))
	if err != nil {
		return false, asked, err
	}
	return answers[0].rows[0][0] == "t", asked, nil
}

// unlock reports whether the session held the key, and frees it.
func (s *session) unlock(until time.Time, key int64) (bool, error) {
	answers, err := s.ask(context.Background(), until,
		stmt("select pg_advisory_unlock($1::int8)", strconv.FormatInt(key, 10)))
	if err != nil {
		return false, err
	}
	return answers[0].rows[0][0] == "t", nil
}

// ping restarts the server's idle clock.
func (s *session) ping(until time.Time) error {
	_, err := s.ask(context.Background(), until, stmt("select 1"))
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}
