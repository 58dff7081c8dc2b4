package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// restAfter is how long a session may have been idle and still be trusted with
// what can't be repeated, without asking whether it is there.
const restAfter = time.Second

// transactor runs short transactions on one session of its own. It sets nothing
// on the session that would outlive a transaction, so a pooler in transaction
// mode may sit between. One goroutine at a time uses it.
type transactor struct {
	source  *source
	session *session // nil: the next transaction opens one
}

// transaction is what happens whole, or not at all where the server refuses it.
type transaction struct {
	body []statement

	// notify goes before the commit. It asks for locks that others may have,
	// and so does the commit then, so it can be refused when the body was not.
	notify []statement
}

// outcome is what became of a transaction.
type outcome struct {
	answers []answer // to the body
	err     error    // a refusal of the server's: nothing has changed
	late    bool     // the body was answered: what came after it was refused
}

// limits bound a round trip.
type limits struct {
	// due is when the earliest caller gives up. The server has to refuse before
	// that, else a statement that waits for a row would run after its caller
	// has gone.
	due time.Time

	// until is when the client gives up, and the session with it.
	until time.Time

	// share is among how many transactions the time for locks is divided. At
	// least 1.
	share int

	// harmless says that the transactions may run twice.
	harmless bool
}

// ready opens a session if there is none, bounded by ctx and by the source's
// timeout.
func (t *transactor) ready(ctx context.Context) error {
	if t.session != nil {
		return nil
	}
	s, err := t.source.open(ctx)
	if err == nil {
		err = s.lookWhoseItIs(ctx, time.Now().Add(t.source.timeout))
	}
	if err != nil {
		return endOr(ctx, err)
	}
	t.session = s
	return nil
}

// lookWhoseItIs finds out whether a pooler stands in between, which invents the
// pid that it tells at the start of the connection. If none does, statements are
// prepared, and planned once: to plan a batch costs more than to run it, and the
// server would do it each time, in the hope of a better plan. It closes the
// session if it can't tell.
func (s *session) lookWhoseItIs(ctx context.Context, until time.Time) error {
	answers, err := s.ask(ctx, until, stmt("select pg_backend_pid()"))
	if err == nil && answers[0].rows[0][0] == strconv.FormatUint(uint64(s.pid), 10) {
		if _, err = s.ask(ctx, until, stmt("set plan_cache_mode = force_generic_plan")); !s.broken {
			s.own, err = true, nil // one that does not know it plans as it likes
		}
	}
	if err != nil {
		s.close(time.Now().Add(goodbye))
	}
	return err
}

// errStale says that the session had ended while it was idle, and that to send
// the transactions again does no harm: they were not sent, or may run twice.
var errStale = errors.New("the session had ended")

// run sends the transactions in one round trip and returns an outcome for each
// that was answered. Unless that is all of them, the error says why: the outcome
// of the others is unknown, and the session is closed. Nothing is sent once
// l.due is over or ctx has ended.
//
// A session that was idle may have ended meanwhile. To ask first would cost a
// second round trip; what is harmless is sent at once, and is errStale if need
// be.
func (t *transactor) run(ctx context.Context, l limits, all ...transaction) ([]outcome, error) {
	reused := t.session != nil
	if reused && !l.harmless && time.Since(t.session.usedAt) > restAfter {
		if _, err := t.session.ask(ctx, l.until, stmt("select 1")); err != nil {
			t.close()
			return nil, endOr(ctx, errStale)
		}
	}
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	if err := endOf(ctx); err != nil {
		return nil, err
	}
	if !time.Now().Before(l.due) {
		return nil, context.DeadlineExceeded
	}
	outcomes, err := t.session.transact(ctx, l, all)
	if err == nil {
		return outcomes, nil
	}
	t.close()
	if len(outcomes) == 0 && reused && l.harmless && !errors.Is(err, os.ErrDeadlineExceeded) {
		err = errStale
	}
	return outcomes, endOr(ctx, err)
}

// close ends the session.
func (t *transactor) close() {
	if t.session != nil {
		t.session.close(time.Now().Add(goodbye))
		t.session = nil
	}
}

// transact sends transactions whole and reads what the server says to each.
//
// The commit stands behind a Sync of its own. After a refusal it is what leaves
// the transaction, as a rollback, so that the next one can be on its way
// already.
func (s *session) transact(ctx context.Context, l limits, all []transaction) ([]outcome, error) {
	begin := l.begin()
	var groups [][]statement
	for _, tx := range all {
		groups = append(groups, append(begin[:len(begin):len(begin)], tx.body...))
		if len(tx.notify) > 0 {
			groups = append(groups, tx.notify)
		}
		groups = append(groups, []statement{stmt("commit")})
	}
	replies, broken := s.pipeline(ctx, l.until, groups)
	var outcomes []outcome
	for _, tx := range all {
		steps := 2 + min(len(tx.notify), 1)
		if len(replies) < steps {
			return outcomes, broken
		}
		o := outcome{err: replies[0].err}
		if o.err == nil {
			o.answers = replies[0].answers[len(begin):]
			for _, r := range replies[1:steps] {
				if o.err == nil && r.err != nil {
					o.err, o.late = r.err, true
				}
			}
		}
		replies = replies[steps:]
		outcomes = append(outcomes, o)
	}
	return outcomes, broken
}

// begin makes the transaction independent of what the role or the database
// defaults to: under serializable, contenders would fail instead of waiting;
// with an asynchronous commit a crash of the server would forget a token that
// was handed out.
//
// The server gets three quarters of the time for a statement. Nobody holds a row
// for longer than a commit takes; a statement that still waits for one after a
// quarter is refused, because others wait for the session behind it.
//
// What is not set here can make no answer wrong. Arguments and results are text
// in UTF-8 (see connect), numbers in it digits, which DateStyle, IntervalStyle,
// TimeZone, bytea_output and standard_conforming_strings leave alone. The idle
// timeouts and transaction_timeout end a session, an error of the call. A
// read-only default is ErrReadOnly; search_path and row_security are the user's
// to set.
func (l limits) begin() []statement {
	rest := time.Until(l.due)
	text := func(d time.Duration) string { return strconv.FormatInt(millis(d), 10) }
	return []statement{
		stmt("begin isolation level read committed"),
		stmt(`select set_config('synchronous_commit', 'on', true), set_config('statement_timeout', $1::text, true),
			set_config('lock_timeout', $2::text, true)`, text(rest*3/4), text(rest/4/time.Duration(l.share))),
	}
}

// endOr is why ctx has ended, or err if it has not.
func endOr(ctx context.Context, err error) error {
	if end := endOf(ctx); end != nil {
		return end
	}
	return err
}

// micros and fromMicros carry a duration and a time as text: a time is
// microseconds since the Unix epoch, which loses nothing that PostgreSQL keeps.
// A duration is rounded up, so that the server never counts less than the
// caller.
func micros(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Microsecond-1)/time.Microsecond), 10)
}

func fromMicros(text string) (time.Time, error) {
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("a time of the server: %w", err)
	}
	return time.UnixMicro(us).UTC(), nil
}

// report tells the observer of a call that failed, and returns its error with
// what was tried. That the caller or Close has ended the call is no failure.
func report(observe relay.Observer, e relay.Event, what string, err error) error {
	err = wrap(what, err)
	if !errors.Is(err, context.Canceled) && !errors.Is(err, relay.ErrClosed) {
		e.Kind, e.Err = relay.EventFailed, err
		observe.Emit(e)
	}
	return err
}
