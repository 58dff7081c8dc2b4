package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
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
// One goroutine at a time uses it; only wake and cut may be called from others.
type session struct {
	conn     net.Conn
	frontend *pgproto3.Frontend
	pid      uint32    // as told at the start of the connection
	version  string    // the server's, as told then
	inTx     bool      // the last answer left a transaction open
	broken   bool      // an answer is missing: nothing more can be asked
	usedAt   time.Time // when the last answer came
	heard    []string  // payloads of notifications that came in between; whoever uses the session takes them

	mu     sync.Mutex // guards what follows, and orders park's deadline with wake's
	parked bool
	wanted bool
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

// affected reports whether the statement changed a row.
func (a answer) affected() bool { return a.tag != "" && !strings.HasSuffix(a.tag, " 0") }

// open makes a session, bounded by ctx and by the source's timeout.
func (s *source) open(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
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

// ask sends statements in one round trip and returns an answer for each. They
// are bound without names: nothing is prepared, so a pooler may sit between,
// and all of them reach the same server session. A server's refusal (a
// *pgconn.PgError) leaves the session usable; after any other error, the end of
// ctx included, it is broken and what the statements did is unknown.
func (s *session) ask(ctx context.Context, until time.Time, statements ...statement) ([]answer, error) {
	if err := s.conn.SetDeadline(until); err != nil {
		s.broken = true
		return nil, err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = s.conn.SetDeadline(longAgo)
	})
	defer func() {
		if !stop() {
			<-interrupted // else it could hit whoever uses the session next
		}
	}()
	answers, err := s.exchange(statements)
	if end := endOf(ctx); err != nil && s.broken && end != nil {
		return nil, end
	}
	return answers, err
}

func (s *session) exchange(statements []statement) ([]answer, error) {
	for _, st := range statements {
		args := make([][]byte, len(st.args))
		for i, arg := range st.args {
			args[i] = []byte(arg)
		}
		s.frontend.SendParse(&pgproto3.Parse{Query: st.sql})
		s.frontend.SendBind(&pgproto3.Bind{Parameters: args})
		s.frontend.SendExecute(&pgproto3.Execute{})
	}
	s.frontend.SendSync(&pgproto3.Sync{})
	s.broken = true // until the whole answer is here
	if err := s.frontend.Flush(); err != nil {
		return nil, err
	}
	return s.answers(len(statements))
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
			s.broken, s.inTx, s.usedAt = false, m.TxStatus != 'I', time.Now()
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

// texts copies a row, which the next message overwrites. NULL reads as empty.
func texts(values [][]byte) []string {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = string(v)
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
	err := s.conn.SetReadDeadline(until)
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

// rest lets the next read park again.
func (s *session) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = false
}

// cut closes the socket under whoever uses it.
func (s *session) cut() { _ = s.conn.Close() }

// close ends the session. It waits until the server has hung up, which it does
// after it has freed the session's locks, but not past until.
func (s *session) close(until time.Time) {
	s.broken = true
	defer s.cut()
	if s.conn.SetDeadline(until) != nil {
		return
	}
	s.frontend.Send(&pgproto3.Terminate{})
	if s.frontend.Flush() == nil {
		_, _ = io.Copy(io.Discard, s.conn)
	}
}
