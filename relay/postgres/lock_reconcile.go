package postgres

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/relay-samples/relay-go/relay/internal/trust"
)

// maxAgain is how often an unlock that the server refuses is asked again.
const maxAgain = 3

// ownLocksSQL reads what the session holds. It filters by pid alone: a look at
// pg_database needs a lock of its own, for which a full lock table has no room.
const ownLocksSQL = `select classid::int8 << 32 | objid::int8 from pg_locks
where pid = pg_backend_pid() and locktype = 'advisory' and objsubid = 1 and granted`

// reconcile finds out what a batch has done that the server refused. A session
// lock outlives the statement that took it, so a refused one may have done all,
// some or nothing of what it was asked.
//
// What turns out to be open is asked once more, without telling anybody: a
// NOTIFY that hangs at commit may have been the reason. Unlocks come first, since
// they make room in a lock table that is full, and are asked up to maxAgain
// times. What is open after that has codeOpen. The error is the server's last
// refusal; with n.broken set it is why there is no answer at all.
func (n *line) reconcile(refusal error) error {
	asked := slices.Clone(n.ops)
	codes := make([]opCode, len(asked))
	open := make([]int, len(asked)) // indexes of asked
	for i := range open {
		open[i] = i
	}
	for again := 0; len(open) > 0; again++ {
		held, err := n.ownLocks()
		if err != nil {
			n.broken = true // not known what is held: as bad as no answer
			return err
		}
		open = compare(asked, codes, open, held)
		retry := n.sealAgain(asked, open, again)
		if len(retry) == 0 {
			break
		}
		patience := n.patience()
		n.limit(patience, patience)
		err = n.askOps()
		switch {
		case n.broken:
			return err
		case err != nil:
			refusal = err
			continue
		}
		for i, at := range retry {
			codes[at] = n.codes[i]
		}
		open = slices.DeleteFunc(open, func(at int) bool { return slices.Contains(retry, at) })
	}
	for _, at := range open {
		codes[at] |= codeOpen
	}
	n.codes = codes
	return refusal
}

// sealAgain makes n.ops of those that are to be asked again, and returns where
// they stand.
func (n *line) sealAgain(asked []op, open []int, again int) (retry []int) {
	n.ops = n.ops[:0]
	for _, first := range []bool{true, false} {
		for _, at := range open {
			if gives := asked[at].kind.gives(); gives == first && (again == 0 || gives && again < maxAgain) {
				retry = append(retry, at)
				n.ops = append(n.ops, asked[at].quietly())
			}
		}
	}
	return retry
}

// patience is how long an answer is waited for: RequestTimeout, or less when the
// locks can't be relied on for that long, or not at all when the session is over.
func (n *line) patience() time.Duration {
	n.locker.mu.Lock()
	defer n.locker.mu.Unlock()
	left, _ := n.trustLeft()
	if n.held == 0 {
		left = max(4*n.locker.cfg.RequestTimeout-time.Since(n.sealed), 0)
	}
	if n.cause != nil {
		left = 0
	}
	return min(left, n.locker.cfg.RequestTimeout)
}

// compare settles what can be told from what the session holds, and returns the
// rest. That a lock is not held does not say why not.
func compare(asked []op, codes []opCode, open []int, held map[int64]bool) []int {
	rest := open[:0]
	for _, at := range open {
		o := asked[at]
		registered := held[o.waitKey()]
		done := held[o.key]
		switch o.kind {
		case opUnlock, opUnlockQuietly:
			done = !done
		case opLeave:
			done = !registered
		}
		codes[at] = 0
		if registered {
			codes[at] = codeRegistered
		}
		switch {
		case done:
			codes[at] |= codeYes
			continue
		case o.kind == opRegister && registered:
			asked[at].kind = opTryRegistered // again would be once too often: these locks stack
		}
		rest = append(rest, at)
	}
	return rest
}

// ownLocks asks again and again when the server refuses, to pg_cancel_backend
// say: what is not known to be held has to be given up.
func (n *line) ownLocks() (map[int64]bool, error) {
	n.limited = time.Time{} // ask sets a deadline of its own
	var answers []answer
	for {
		patience := n.patience()
		n.sent = trust.Now()
		var err error
		answers, err = n.ask(context.Background(), time.Now().Add(patience), stmt(ownLocksSQL))
		if err == nil {
			break
		}
		if n.broken || patience <= 0 {
			return nil, err
		}
		time.Sleep(time.Millisecond) // whoever refuses may do so for a while
	}
	held := make(map[int64]bool, len(answers[0].rows))
	for _, row := range answers[0].rows {
		key, err := strconv.ParseInt(row[0], 10, 64)
		if err != nil {
			return nil, err
		}
		held[key] = true
	}
	return held, nil
}

// gives says that the op gives something back, which somebody has to.
func (k opKind) gives() bool { return k == opUnlock || k == opUnlockQuietly || k == opLeave }

func (o op) quietly() op {
	if o.kind == opUnlock {
		o.kind = opUnlockQuietly
	}
	return o
}

func (o op) waitKey() int64 { return waitSpace | o.key&(1<<32-1) }
