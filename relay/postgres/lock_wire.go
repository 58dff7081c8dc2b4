package postgres

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/relay-samples/relay-go/relay/internal/trust"
)

// op is one question about one key.
type op struct {
	kind opKind
	key  int64
}

// opKind travels to the server, in opsSQL.
type opKind int16

const (
	opUnlock        opKind = iota // and tell those who wait
	opUnlockQuietly               // and tell nobody
	opTry
	opRegister      // as a waiter, and then try: no wake-up is lost
	opTryRegistered // and wait no more if it is granted
	opLeave         // the waiters
)

// opCode is the server's answer to an op.
type opCode int8

const (
	codeYes        opCode = 1 << iota // granted, or unlocked
	codeRegistered                    // it is a waiter now
	codeTold                          // somebody waits, and was notified
	codeOpen                          // never from the server: it has not said
)

// The statements of a lock session. Session locks are neither given nor taken
// back by a transaction that fails.
//
// CASE fixes the order. A release unlocks first and looks for waiters then, who
// register first and try then: one of the two sees the other. The look is a try
// for the waiters' key, which they hold shared; until the transaction ends it
// keeps new ones from registering, and they ask again soon. Its own session
// never stands in the way, so the waiters of one's own process are not told.
const (
	unlockSQL = `case when pg_advisory_unlock(k) then
		case when pg_try_advisory_xact_lock(w) then 1 when pg_notify('` + notifyChannel + `', k::text) is null then 1 else 5 end
	else 0 end`

	tryLockSQL = `case when pg_try_advisory_lock(k) then 1 else 0 end`

	// Who was granted the lock waits no more.
	tryAndLeaveSQL = `case when pg_try_advisory_lock(k) then case when pg_advisory_unlock_shared(w) then 1 else 1 end else 2 end`

	opsSQL = `select case o
	when 0 then ` + unlockSQL + `
	when 1 then case when pg_advisory_unlock(k) then 1 else 0 end
	when 2 then ` + tryLockSQL + `
	when 3 then case when pg_try_advisory_lock_shared(w) then ` + tryAndLeaveSQL + ` else ` + tryLockSQL + ` end
	when 4 then ` + tryAndLeaveSQL + `
	else case when pg_advisory_unlock_shared(w) then 1 else 0 end
	end from unnest($1, $2) as op (o, k), lateral (select ` + waitKeySQL + ` as w) as waiters`

	waitKeySQL = `k & 4294967295 | 6287387179912003584`
)

// prepareOps names the statements of a batch and those of a batch of one. Only
// sessions of our own have them: a pooler that shares sessions is refused before.
var prepareOps = []statement{
	stmt(`prepare ops (int2[], int8[]) as ` + opsSQL),
	stmt(`prepare "unlock" (int8) as select ` + unlockSQL + ` from (select $1 as k) as op, lateral (select ` + waitKeySQL + ` as w) as waiters`),
	stmt(`prepare try (int8) as select ` + tryLockSQL + ` from (select $1 as k) as op`),
}

// wire is what a lock session uses again for each batch, so that asking
// allocates nothing.
type wire struct {
	ops    []op
	codes  []opCode // one for each op, as far as they have come
	kinds  []byte
	keys   []byte
	params [2][]byte

	bind    pgproto3.Bind
	execute pgproto3.Execute
	sync    pgproto3.Sync

	refusal   error
	listening bool // to the channel of releases
	starting  bool // to listen: the first of two transactions

	limited, limitedWrite time.Time // the deadlines that the connection has
	written               bool      // the whole question
}

var binaryFormat, textFormat = []int16{1}, []int16{0}

func (o op) waits() bool { return o.kind == opRegister || o.kind == opTryRegistered }

// limit bounds the next exchange: its answer, and the question. Deadlines that
// are a little sooner than asked for are left as they are, since to set them costs
// as much as the rest.
func (n *line) limit(answer, question time.Duration) {
	now := time.Now()
	if good(n.limited, now, answer) && good(n.limitedWrite, now, question) {
		return
	}
	n.limited, n.limitedWrite = now.Add(answer), now.Add(question)
	_ = n.setDeadlines(n.limited, n.limitedWrite) // a closed connection says so when it is used
}

func good(deadline, now time.Time, d time.Duration) bool {
	sooner := now.Add(d).Sub(deadline)
	return 0 <= sooner && sooner <= d/16
}

// askOps asks n.ops in one round trip; n.codes has the answers. The errors are
// those of session.ask. The trust in what is granted runs from n.sent.
func (n *line) askOps() error {
	n.sent = trust.Now() // before the call: a slow reply must not lengthen the trust
	s, w := n.session, &n.wire
	w.codes, w.refusal = w.codes[:0], nil
	w.bind = pgproto3.Bind{ParameterFormatCodes: binaryFormat, ResultFormatCodes: textFormat}
	if len(w.ops) == 1 && (w.ops[0].kind == opTry || w.ops[0].kind == opUnlock) {
		w.bind.PreparedStatement = "try"
		if w.ops[0].kind == opUnlock {
			w.bind.PreparedStatement = "unlock"
		}
		w.keys = binary.BigEndian.AppendUint64(w.keys[:0], uint64(w.ops[0].key))
		w.params[0] = w.keys
		w.bind.Parameters = w.params[:1]
	} else {
		w.encode()
		w.bind.PreparedStatement = "ops"
		w.bind.Parameters = w.params[:2]
	}
	if w.starting = !w.listening && slices.ContainsFunc(w.ops, op.waits); w.starting {
		// In a transaction of its own, since it counts from its commit.
		s.frontend.SendParse(&pgproto3.Parse{Query: "listen " + notifyChannel})
		s.frontend.SendBind(&pgproto3.Bind{})
		s.frontend.SendExecute(&w.execute)
		s.frontend.SendSync(&w.sync)
	}
	s.frontend.SendBind(&w.bind)
	s.frontend.SendExecute(&w.execute)
	s.frontend.SendSync(&w.sync)
	s.broken, w.written = true, false // until the whole answer is here
	if err := s.frontend.Flush(); err != nil {
		return err
	}
	w.written = true
	return n.receive()
}

// encode writes the ops as two arrays in the server's binary format.
func (w *wire) encode() {
	const int2, int8 = 21, 20 // type OIDs
	w.kinds = appendArray(w.kinds[:0], int2, len(w.ops))
	w.keys = appendArray(w.keys[:0], int8, len(w.ops))
	for _, o := range w.ops {
		w.kinds = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(w.kinds, 2), uint16(o.kind))
		w.keys = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(w.keys, 8), uint64(o.key))
	}
	w.params[0], w.params[1] = w.kinds, w.keys
}

func appendArray(buf []byte, elementType uint32, n int) []byte {
	for _, field := range [...]uint32{1, 0, elementType, uint32(n), 1} { // dimensions, nulls, type, length, first index
		buf = binary.BigEndian.AppendUint32(buf, field)
	}
	return buf
}

// receive reads the answer, or goes on reading it after a deadline.
func (n *line) receive() error {
	s, w := n.session, &n.wire
	for {
		message, err := s.frontend.Receive()
		if err != nil {
			if w.refusal != nil {
				return w.refusal // the server said why before it hung up
			}
			return err
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			if len(m.Values) != 1 || len(m.Values[0]) != 1 {
				return fmt.Errorf("an answer of %d columns", len(m.Values))
			}
			w.codes = append(w.codes, opCode(m.Values[0][0]-'0'))
		case *pgproto3.NotificationResponse:
			s.hear(m)
		case *pgproto3.ErrorResponse:
			w.refusal = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			if w.starting { // a refusal leaves the waiters to their ticks
				w.starting, w.listening, w.refusal = false, w.refusal == nil, nil
				continue
			}
			s.usedAt = time.Now()
			if w.refusal == nil && len(w.codes) != len(w.ops) {
				return fmt.Errorf("the server answered %d of %d questions", len(w.codes), len(w.ops))
			}
			s.broken = false
			return w.refusal
		}
	}
}

// parseKey reads a notification's payload; 0 is nobody's key.
func parseKey(payload string) int64 {
	key, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		return 0
	}
	return key
}
