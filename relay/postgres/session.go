package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// longAgo as a deadline ends whatever reads or writes at once.
var longAgo = time.Unix(1, 0)

// session is one server session, spoken to directly. pgx connects it
// (addresses, TLS, passwords) and then hands it over, for two reasons: a parked
// read has to be interruptible without harm, and a connection that pgconn gives
// up in the middle of an answer stays in a goroutine of its own for up to 15 s.
//
// One goroutine at a time uses it; only wake, shorten and hurry may be called
// from others.
type session struct {
	conn     net.Conn
	frontend *pgproto3.Frontend
	pid      uint32    // as told at the start of the connection
	version  string    // the server's, as told then
	broken   bool      // an answer is missing: nothing more can be asked
	usedAt   time.Time // when the last answer came
	heard    []string  // payloads of notifications that came in between; whoever uses the session takes them

	// own says that no pooler shares the server session, so that statements may
	// stay prepared on it: they are parsed and planned once.
	own   bool
	names map[string]*prepared // by SQL

	mu     sync.Mutex // guards what follows, and orders the deadlines that are set
	parked bool
	wanted bool
	cap    time.Time // no deadline is set later than that; zero: none
}

// prepared is a statement that the server keeps, or may keep.
type prepared struct {
	name  string
	known bool // surely
}

// statement is one SQL statement. Its arguments travel as text beside it, never
// inside it; the SQL says of which type they are.
type statement struct {
	sql  string
	args []string
}

func stmt(sql string, args ...string) statement { return statement{sql: sql, args: args} }

// answer is what the server said to one statement.
type answer struct {
	rows [][]string
	tag  string // "UPDATE 1"
}

// open makes a session, bounded by ctx and by the source's timeout.
func (s *source) open(ctx context.Context) (*session, error) {
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.connect(bounded)
	if err != nil {
		return nil, s.overdue(ctx, err)
	}
	taken, err := conn.Hijack()
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return &session{
		conn: taken.Conn, frontend: taken.Frontend, pid: taken.PID,
		version: taken.ParameterStatuses["server_version"], usedAt: time.Now(),
	}, nil
}

func (s *session) answers(n int) ([]answer, error) {
	answers := make([]answer, 0, n)
	var current answer
	var refusal error
	for {
		message, err := s.frontend.Receive()
		if err != nil {
			if refusal != nil {
				return nil, refusal // the server said why before it hung up
			}
			return nil, err
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			current.rows = append(current.rows, texts(m.Values))
		case *pgproto3.CommandComplete:
			current.tag = string(m.CommandTag)
			answers = append(answers, current)
			current = answer{}
		case *pgproto3.NotificationResponse:
			s.hear(m)
		case *pgproto3.ErrorResponse:
			refusal = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			s.broken, s.usedAt = false, time.Now()
			switch {
			case refusal != nil:
				return nil, refusal
			case len(answers) != n:
				s.broken = true
				return nil, fmt.Errorf("the server answered %d of %d statements", len(answers), n)
			}
			return answers, nil
		}
	}
}

// overdue makes of an opening that was out of time an error that does not look
// like the end of the caller's context, unless it is.
func (s *source) overdue(caller context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && endOfCaller(caller) == nil {
		return fmt.Errorf("no session within %v: %w: %v", s.timeout, os.ErrDeadlineExceeded, err)
	}
	return err
}

// texts copies a row, which the next message overwrites, into one string that
// all of it shares. NULL reads as empty.
func texts(values [][]byte) []string {
	all := string(bytes.Join(values, nil))
	row := make([]string, len(values))
	for i, v := range values {
		row[i], all = all[:len(v)], all[len(v):]
	}
	return row
}

// park reads while nothing is asked, so that the end of the session is noticed
// in milliseconds, and a notification heard. It returns nil at until, after a
// notification or once somebody wants the session, and else why the session has
// ended.
func (s *session) park(until time.Time) error {
	s.mu.Lock()
	if s.wanted {
		s.mu.Unlock()
		return nil
	}
	s.parked = true
	err := s.conn.SetReadDeadline(s.capped(until))
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.parked = false
		s.mu.Unlock()
	}()
	for err == nil {
		var message pgproto3.BackendMessage
		message, err = s.frontend.Receive()
		if err != nil {
			break
		}
		switch m := message.(type) {
		case *pgproto3.NotificationResponse:
			s.hear(m)
			return nil
		case *pgproto3.ErrorResponse:
			err = pgconn.ErrorResponseToPgError(m) // nothing was asked: it says goodbye
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil // a message cut in two is read on by the next Receive
	}
	s.broken = true
	return err
}

// hear keeps what others notify. What the session itself has said is no news.
func (s *session) hear(m *pgproto3.NotificationResponse) {
	if m.PID != s.pid {
		s.heard = append(s.heard, m.Payload)
	}
}

// wake ends a parked read, and every later one, at once, until rest. A statement
// that is being answered is left alone.
func (s *session) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = true
	if s.parked {
		_ = s.conn.SetReadDeadline(longAgo)
	}
}

// setDeadlines bounds reads and writes, within the cap.
func (s *session) setDeadlines(read, write time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.SetReadDeadline(s.capped(read)); err != nil {
		return err
	}
	return s.conn.SetWriteDeadline(s.capped(write))
}

// capped is for who has mu.
func (s *session) capped(t time.Time) time.Time {
	if !s.cap.IsZero() && s.cap.Before(t) {
		return s.cap
	}
	return t
}

// within is t, or the cap if that is sooner.
func (s *session) within(t time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capped(t)
}

// shorten ends the read that is under way at until. Others may call it.
func (s *session) shorten(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetReadDeadline(s.capped(until))
}

// hurry bounds whatever reads or writes, and all that comes after it. Others may
// call it.
func (s *session) hurry(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cap = until
	_ = s.conn.SetDeadline(until)
	if s.parked && s.wanted { // a reader that has yet to see that it was woken would read on
		_ = s.conn.SetReadDeadline(longAgo)
	}
}

// rest lets the next read park again.
func (s *session) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = false
}

// close ends the session. It waits until the server has hung up, which it does
// after it has freed the session's locks, but not past until.
func (s *session) close(until time.Time) {
	s.broken = true
	defer s.conn.Close()
	if s.conn.SetDeadline(until) != nil {
		return
	}
	s.frontend.Send(&pgproto3.Terminate{})
	if s.frontend.Flush() == nil {
		_, _ = io.Copy(io.Discard, s.conn)
	}
}
