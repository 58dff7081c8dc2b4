package postgres_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/postgres"
)

// toy is a server in memory, which grants what nobody holds. In a bubble of
// synctest the time is the test's, and so is the freeze of a process.
type toy struct {
	version string // "18.0" if empty
	proxy   bool   // tells a pid of its own at the start of a connection
	told    bool   // somebody else waits, whom an unlock tells

	mu         sync.Mutex                   // guards what follows
	answers    func(what string)            // before an answer is sent; may block
	refuses    func(what string) bool       // with an error, and it is not done; may block
	registers  func() bool                  // whether a waiter can
	parameters func(what, parameter string) // the first one
	asked      map[string]int
	kinds      []string // of each batch
	held       map[uint64]*toySession
	open       map[*toySession]bool
	dials      int
}

// What a batch looks like on the wire: the bytes of an array before its
// elements, and of its elements.
const arrayHeader, kindSize, keySize = 20, 6, 12

// ownPID is of every session of a toy, and otherPID of none.
const ownPID, otherPID = 7, 8

// ownLocks asks for the session's own locks.
const ownLocks = "select classid::int8 << 32 | objid::int8 from pg_locks\n" +
	"where pid = pg_backend_pid() and locktype = 'advisory' and objsubid = 1 and granted"

// toySession is one session of a toy.
type toySession struct {
	client numbConn
	conn   net.Conn // the server's end
	server *pgproto3.Backend
}

// numbConn is what a Locker reads from. While it is numb no deadline wakes it,
// as if the process were frozen.
type numbConn struct {
	net.Conn
	numb *atomic.Bool
}

func (c numbConn) SetDeadline(t time.Time) error {
	if c.numb.Load() {
		t = time.Time{}
	}
	return c.Conn.SetDeadline(t)
}

func (c numbConn) SetReadDeadline(t time.Time) error {
	if c.numb.Load() {
		t = time.Time{}
	}
	return c.Conn.SetReadDeadline(t)
}

// newToy is for a bubble. The config leads to the toy.
func newToy(t testing.TB) (*toy, *pgxpool.Config) {
	t.Helper()
	s := &toy{asked: make(map[string]int), held: make(map[uint64]*toySession), open: make(map[*toySession]bool)}
	t.Cleanup(func() { time.Sleep(24 * time.Hour) }) // last: until the server has ended too
	cfg, err := pgxpool.ParseConfig("host=192.0.2.1 user=u dbname=d sslmode=disable")
	require.NoError(t, err)
	cfg.ConnConfig.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	cfg.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		session := &toySession{client: numbConn{client, new(atomic.Bool)}, conn: server, server: pgproto3.NewBackend(server, server)}
		s.mu.Lock()
		s.dials++
		s.open[session] = true
		s.mu.Unlock()
		go func() {
			defer server.Close()
			s.serve(session)
		}()
		return session.client, nil
	}
	return s, cfg
}

// serve answers until the client hangs up, which frees what the session held.
func (s *toy) serve(session *toySession) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, session)
		for key, holder := range s.held {
			if holder == session {
				delete(s.held, key)
			}
		}
	}()
	b := session.server
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: cmp.Or(s.version, "18.0")})
	pid := uint32(ownPID)
	if s.proxy {
		pid = 99
	}
	b.Send(&pgproto3.BackendKeyData{ProcessID: pid, SecretKey: []byte{1, 2, 3, 4}})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if b.Flush() != nil {
		return
	}
	var parsed, bound string
	var parameters [][]byte
	refused := false
	for {
		message, err := b.Receive()
		if err != nil {
			return
		}
		switch m := message.(type) {
		case *pgproto3.Parse:
			parsed = m.Query
		case *pgproto3.Bind:
			if bound = m.PreparedStatement; bound == "" {
				bound = parsed
			}
			parameters = nil
			for _, p := range m.Parameters {
				parameters = append(parameters, append([]byte(nil), p...))
			}
		case *pgproto3.Execute:
			if !refused {
				refused = !s.execute(session, bound, parameters)
			}
		case *pgproto3.Sync:
			refused = false
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			if b.Flush() != nil {
				return
			}
		case *pgproto3.Terminate:
			return
		}
	}
}

// execute does a statement, or refuses it.
func (s *toy) execute(session *toySession, what string, parameters [][]byte) (done bool) {
	s.mu.Lock()
	s.asked[what]++
	s.mu.Unlock()
	s.mu.Lock()
	refuses, registers, see := s.refuses, s.registers, s.parameters
	s.mu.Unlock()
	if see != nil && len(parameters) > 0 {
		see(what, string(parameters[0]))
	}
	row := func(values ...string) {
		data := &pgproto3.DataRow{}
		for _, v := range values {
			data.Values = append(data.Values, []byte(v))
		}
		session.server.Send(data)
	}
	if what == "ops" {
		kinds := ""
		for at := arrayHeader; at < len(parameters[0]); at += kindSize {
			kinds += fmt.Sprint(parameters[0][at+kindSize-1])
		}
		s.mu.Lock()
		s.kinds = append(s.kinds, kinds)
		s.mu.Unlock()
	}
	if refuses != nil && refuses(what) {
		session.server.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "57014", Message: "refused"})
		return false
	}
	switch what {
	case "select pg_backend_pid(), pg_is_in_recovery()":
		row(fmt.Sprint(ownPID), "f")
	case "try":
		row(s.lock(session, parameters[0]))
	case "unlock":
		row(s.unlock(session, parameters[0]))
	case ownLocks:
		s.mu.Lock()
		for key, holder := range s.held {
			if holder == session {
				row(fmt.Sprint(key))
			}
		}
		s.mu.Unlock()
	case "ops":
		for i := range (len(parameters[0]) - arrayHeader) / kindSize {
			k := parameters[1][arrayHeader+i*keySize+4:][:8]
			switch parameters[0][arrayHeader+i*kindSize+5] {
			case 0, 1:
				row(s.unlock(session, k))
			case 3:
				switch {
				case s.lock(session, k) == "1":
					row("1")
				case registers == nil || registers():
					row("2") // a waiter
				default:
					row("0")
				}
			case 4:
				if s.lock(session, k) == "1" {
					row("1")
				} else {
					row("2")
				}
			case 5:
				row("1")
			default:
				row(s.lock(session, k))
			}
		}
	}
	session.server.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	s.mu.Lock()
	answers := s.answers
	s.mu.Unlock()
	if answers != nil {
		answers(what)
	}
	return true
}

func (s *toy) lock(session *toySession, key []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := binary.BigEndian.Uint64(key)
	if s.held[k] != nil {
		return "0"
	}
	s.held[k] = session
	return "1"
}

func (s *toy) unlock(session *toySession, key []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := binary.BigEndian.Uint64(key)
	if s.held[k] != session {
		return "0"
	}
	delete(s.held, k)
	if s.told {
		return "5"
	}
	return "1"
}

// freeze is for a process that sleeps until thaw: no deadline wakes it.
func (s *toy) freeze() {
	s.each(func(c *toySession) {
		c.client.numb.Store(true)
		_ = c.client.Conn.SetDeadline(time.Time{})
	})
}

func (s *toy) thaw() { s.each(func(c *toySession) { c.client.numb.Store(false) }) }

func (s *toy) each(do func(*toySession)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.open {
		do(session)
	}
}

// The four call back with a statement's SQL or its name; nil calls nobody.

func (s *toy) onAnswer(call func(what string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = call
}

func (s *toy) onQuestion(refuse func(what string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = refuse
}

func (s *toy) onRegister(can func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registers = can
}

func (s *toy) onParameters(see func(what, parameter string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parameters = see
}

// batches are the kinds of questions in each.
func (s *toy) batches() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kinds)
}

// occupy has somebody else hold a name, or nobody.
func (s *toy) occupy(name string, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := uint64(postgres.LockKey(name))
	if delete(s.held, key); held {
		s.held[key] = new(toySession)
	}
}

// notify tells every session what somebody else's release says.
func (s *toy) notify(name string) { s.notifyAs(otherPID, name) }

func (s *toy) notifyAs(pid uint32, name string) {
	news, err := (&pgproto3.NotificationResponse{PID: pid, Channel: "relay", Payload: fmt.Sprint(postgres.LockKey(name))}).Encode(nil)
	if err != nil {
		panic(err)
	}
	s.each(func(c *toySession) { _, _ = c.conn.Write(news) })
}

// kill ends every session without a word.
func (s *toy) kill() { s.each(func(c *toySession) { _ = c.conn.Close() }) }

// times is how often a statement was asked.
func (s *toy) times(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[what]
}

// connections counts those of old too.
func (s *toy) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

func (s *toy) sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// slow is a Locker's config with round numbers.
var slow = postgres.LockerConfig{TTL: 30 * time.Second, Margin: 3 * time.Second, RequestTimeout: 5 * time.Second}

// trusted is for how long slow's holders rely on a lock without an answer.
const trusted = 27 * time.Second
