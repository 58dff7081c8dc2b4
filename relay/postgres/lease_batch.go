package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// maxPipelined bounds the transactions of one round trip. Nobody reads the
// answers to the first while the last is being sent, and both sides' buffers
// are finite; and what the server has not begun when its client gives up is to
// be little.
const maxPipelined = 32

// leaseKind says what a call wants.
type leaseKind uint8

const (
	leaseTake leaseKind = iota
	leaseRelease
	leaseRead
	leaseAlone // it brings statements of its own
)

// leaseCall is one call of a LeaseStore on its way to the server and back.
type leaseCall struct {
	kind       leaseKind
	role       string
	owner      string        // of a take or release
	token      relay.Token   // of a release
	ttl        time.Duration // of a take
	statements []statement   // of a call that goes alone; they may run twice

	ctx   context.Context
	due   time.Time // when its caller gives up
	stale bool      // it was put back once
	reply chan leaseReply
}

// leaseReply is what became of a call.
type leaseReply struct {
	written []string // the lease as it was written; nil: it was not
	found   []string // the lease as it stands, for a read, or a take that was refused; nil: there is none
	answers []answer // to statements of its own
	err     error
}

// leaseAttempt is a try to settle calls in one transaction.
type leaseAttempt struct {
	calls []*leaseCall
	quiet bool // releases notify nobody
	reads bool // what the calls wanted to write was refused: only tell why
	again bool // it is the second of its kind
}

// carry brings a batch to the server and answers each call.
//
// A batch that the server refused whole has changed nothing. It is tried again
// one by one, so that a role which somebody keeps locked, or whose trigger
// fails, fails alone. What was refused for its notification is tried without:
// a refusal costs a wake-up, and no release.
func (q *leaseQueue) carry(ctx context.Context, batch []*leaseCall) {
	if len(batch) == 0 {
		return
	}
	l := q.limits(batch)
	for round := []leaseAttempt{{calls: batch}}; len(round) > 0; {
		l.share = len(round)
		var next []leaseAttempt
		for part := range slices.Chunk(round, maxPipelined) {
			next = append(next, q.try(ctx, l, part)...)
		}
		round = next
	}
}

// limits says how long the batch may take: as long as its most hurried call on
// the server, and as its most patient one on the network. A network that does
// not answer within a quarter of the usual time is not given up for a caller
// who has less.
func (q *leaseQueue) limits(batch []*leaseCall) limits {
	l := limits{due: batch[0].due, until: time.Now().Add(q.timeout / 4), harmless: true}
	for _, c := range batch {
		if c.due.Before(l.due) {
			l.due = c.due
		}
		if c.due.After(l.until) {
			l.until = c.due
		}
		if c.kind == leaseRelease {
			// If the first one did it, the second finds the lease gone and
			// would tell its holder that it had not held it.
			l.harmless = false
		}
	}
	return l
}

// try makes one attempt each, in one round trip, and returns those that are to
// be made next.
func (q *leaseQueue) try(ctx context.Context, l limits, attempts []leaseAttempt) (next []leaseAttempt) {
	var outcomes []outcome
	err := context.DeadlineExceeded
	if time.Now().Before(l.due) {
		all := make([]transaction, len(attempts))
		for i, a := range attempts {
			all[i] = a.transaction()
		}
		outcomes, err = q.tx.run(ctx, l, all...)
	}
	var stale []*leaseCall
	for i, a := range attempts {
		switch {
		case i >= len(outcomes) && errors.Is(err, errStale):
			stale = append(stale, a.calls...)
		case i >= len(outcomes):
			a.fail(err)
		case outcomes[i].err == nil:
			next = append(next, a.settle(outcomes[i].answers)...)
		default:
			next = append(next, a.afterRefusal(outcomes[i])...)
		}
	}
	q.sendAgain(stale, err)
	return next
}

// sendAgain puts back what met a session that had ended, in the next batch and on
// a new one. Meanwhile a caller may leave, as with any call that was not sent.
func (q *leaseQueue) sendAgain(calls []*leaseCall, err error) {
	calls = slices.DeleteFunc(calls, func(c *leaseCall) bool {
		if c.stale {
			c.answer(err)
		}
		again := c.stale
		c.stale = true
		return again
	})
	if len(calls) > 0 {
		q.putBack(calls)
	}
}

// afterRefusal returns what to try then. If that is nothing, it is the answer.
func (a leaseAttempt) afterRefusal(refused outcome) []leaseAttempt {
	switch {
	case !a.again && isStalePlan(refused.err):
		a.again = true
		return []leaseAttempt{a}
	case refused.late && !a.quiet && a.has(leaseRelease):
		return []leaseAttempt{{calls: a.calls, quiet: true}}
	case len(a.calls) == 1:
		a.fail(refused.err)
		return nil
	}
	singles := make([]leaseAttempt, len(a.calls))
	for i := range a.calls {
		singles[i] = leaseAttempt{calls: a.calls[i : i+1], quiet: a.quiet, reads: a.reads}
	}
	return singles
}

func (a leaseAttempt) has(kind leaseKind) bool {
	return slices.ContainsFunc(a.calls, func(c *leaseCall) bool { return c.kind == kind })
}

func (a leaseAttempt) fail(err error) {
	for _, c := range a.calls {
		c.answer(err)
	}
}

// answer is an error. That RequestTimeout is over must not look like the end of
// the caller's context.
func (c *leaseCall) answer(err error) {
	if errors.Is(err, context.DeadlineExceeded) && endOfCaller(c.ctx) == nil {
		err = fmt.Errorf("no answer within RequestTimeout: %w", os.ErrDeadlineExceeded)
	}
	c.reply <- leaseReply{err: err}
}

// transaction writes what is to be written, and reads what is asked for. A take
// alone also reads who holds the lease otherwise; in a batch, most of which are
// renewals, that would cost everybody, and is asked afterwards.
func (a leaseAttempt) transaction() transaction {
	if a.calls[0].kind == leaseAlone {
		return transaction{body: a.calls[0].statements}
	}
	var roles, owners, tokens, ttls []string // to write
	var freed, keys, payloads []string
	var read, but []string
	for _, c := range a.calls {
		if c.kind == leaseRead || a.reads || len(a.calls) == 1 && c.kind == leaseTake {
			read, but = append(read, c.role), append(but, c.owner)
		}
		if c.kind == leaseRead || a.reads {
			continue
		}
		token, ttl := relay.Token(1), micros(c.ttl)
		if c.kind == leaseRelease {
			token, ttl = c.token, "0"
			payload := leaseWaitName(c.role)
			freed = append(freed, c.role)
			keys = append(keys, strconv.FormatInt(waitKey(payload), 10))
			payloads = append(payloads, payload)
		}
		roles, owners, ttls = append(roles, c.role), append(owners, c.owner), append(ttls, ttl)
		tokens = append(tokens, strconv.FormatInt(int64(token), 10))
	}
	var tx transaction
	if len(roles) > 0 {
		tx.body = append(tx.body, stmt(writeLeasesSQL, array(roles), array(owners), array(tokens), array(ttls)))
	}
	if len(read) > 0 {
		tx.body = append(tx.body, stmt(readLeasesSQL, array(read), array(but)))
	}
	if len(freed) > 0 && !a.quiet {
		tx.notify = []statement{stmt(notifyReleasedSQL, array(freed), array(keys), array(payloads))}
	}
	return tx
}

// settle answers each call from the answers to the transaction, and returns what
// is still to be asked: who holds what was not granted.
func (a leaseAttempt) settle(answers []answer) (next []leaseAttempt) {
	if c := a.calls[0]; c.kind == leaseAlone {
		c.reply <- leaseReply{answers: answers}
		return nil
	}
	var written, found map[string][]string
	writes := !a.reads && (a.has(leaseTake) || a.has(leaseRelease))
	if writes {
		written, answers = byRole(answers[0]), answers[1:]
	}
	if len(answers) > 0 {
		found = byRole(answers[0])
	}
	var refused []*leaseCall
	for _, c := range a.calls {
		unwritten := c.kind == leaseTake && written[c.role] == nil
		switch {
		case unwritten && writes && len(a.calls) > 1:
			refused = append(refused, c)
			continue
		case unwritten && found[c.role] == nil && !a.again: // what refused it was gone before it was read
			next = append(next, leaseAttempt{calls: []*leaseCall{c}, again: true})
			continue
		}
		c.reply <- leaseReply{written: written[c.role], found: found[c.role]}
	}
	if len(refused) > 0 {
		next = append(next, leaseAttempt{calls: refused, reads: true})
	}
	return next
}

// byRole takes the role off each row.
func byRole(a answer) map[string][]string {
	rows := make(map[string][]string, len(a.rows))
	for _, row := range a.rows {
		rows[row[0]] = row[1:]
	}
	return rows
}
