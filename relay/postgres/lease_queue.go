package postgres

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// maxLeaseBatch bounds the roles of one transaction.
const maxLeaseBatch = 1000

// leaseQueue gathers the concurrent calls of a LeaseStore into batches, each of
// which is one round trip and one commit on the one session they share.
//
// The call that finds nobody at work starts a leader, a goroutine that carries
// the calls to the server, batch after batch, and ends when none waits. What
// arrives while a batch is under way rides in the next. No caller carries the
// batch itself: each may leave when its context ends, and none can then cut the
// others short, or leave them without a leader.
type leaseQueue struct {
	timeout time.Duration // of a round trip
	life    lifetime

	queued atomic.Int64 // len(waiting)

	mu      sync.Mutex // guards what follows
	waiting []*leaseCall
	leader  chan struct{} // closed when the leader has ended; nil while there is none
	closed  bool

	tx    transactor // the leader's; without one, whoever has mu may close it
	sizes [16]int    // of the last batches; only the leader uses it, as what follows
	turns int        // batches so far
}

// do waits for the answer to c, or for the end of ctx, after which the outcome
// is unknown if c was sent. A call that has not been sent by then never is.
func (q *leaseQueue) do(ctx context.Context, c *leaseCall) leaseReply {
	if err := endOfCaller(ctx); err != nil {
		return leaseReply{err: err}
	}
	c.ctx, c.reply = ctx, make(chan leaseReply, 1)
	if err := q.enter(c); err != nil {
		return leaseReply{err: err}
	}
	select {
	case r := <-c.reply:
		return r
	case <-ctx.Done():
	}
	select {
	case r := <-c.reply: // it came at the same time
		return r
	default:
		return leaseReply{err: ctx.Err()}
	}
}

func (q *leaseQueue) enter(c *leaseCall) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return relay.ErrClosed
	}
	q.waiting = append(q.waiting, c)
	q.queued.Store(int64(len(q.waiting)))
	if q.leader == nil {
		q.leader = make(chan struct{})
		go q.lead(q.leader)
	}
	return nil
}

// lead carries batches until nobody waits.
func (q *leaseQueue) lead(ended chan<- struct{}) {
	defer close(ended)
	ctx, stop := q.life.bound(context.Background())
	defer stop()
	returned := false
	defer func() {
		if !returned {
			for !q.rest() {
				q.failAll(errGoexit)
			}
		}
	}()
	for {
		err := q.life.ended()
		if err == nil {
			err = q.tx.ready(ctx) // before the calls are sealed, whose time runs from then on
		}
		if err != nil {
			q.failAll(err)
		} else {
			q.gather()
			q.carry(ctx, q.seal(time.Now()))
		}
		if returned = q.rest(); returned {
			return
		}
	}
}

// gatherPause is after what time in which nobody comes those who have come are
// enough. It is short beside a round trip with a commit.
const gatherPause = 100 * time.Microsecond

// gather lets those come who are about to: callers that renew on one beat, or
// that were answered together, come together. It gives the processor to others
// until as many have come as in the largest of the last batches and no more
// follow, or until nobody has come for a moment. Where they all had one call, nobody is expected.
func (q *leaseQueue) gather() {
	expected := slices.Max(q.sizes[:])
	if expected < 2 {
		return
	}
	came, at := 0, time.Now()
	for {
		n := int(q.queued.Load()) // to lock mu would keep them from coming
		switch now := time.Now(); {
		case n > came && n < maxLeaseBatch:
			came, at = n, now
		case n >= expected, n >= maxLeaseBatch, now.Sub(at) > gatherPause:
			return
		}
		runtime.Gosched()
	}
}

// seal takes the next batch out of the queue, in the order of arrival:
//
//   - A role is in it at most once, whoever asks. A second call for a role waits,
//     and so do those for it that came later. Reads are all answered from one.
//   - Calls have about the same time, within a factor of two of the first one's:
//     the server gives up in time for the most hurried, and that must not fail
//     those who have time.
//   - Calls with statements of their own go alone.
func (q *leaseQueue) seal(now time.Time) (batch []*leaseCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var stay []*leaseCall
	met := make(map[string]bool, len(q.waiting))
	for _, c := range q.waiting {
		if err := endOfCaller(c.ctx); err != nil {
			c.reply <- leaseReply{err: err}
			continue
		}
		c.due = now.Add(q.timeout)
		if deadline, ok := c.ctx.Deadline(); ok && deadline.Before(c.due) {
			c.due = deadline
		}
		if len(batch) < maxLeaseBatch && (c.kind == leaseRead || !met[c.role]) && (len(batch) == 0 || c.rides(batch[0], now)) {
			batch = append(batch, c)
		} else {
			stay = append(stay, c)
		}
		if c.kind != leaseRead {
			met[c.role] = true
		}
	}
	q.waiting = stay
	q.queued.Store(int64(len(stay)))
	q.sizes[q.turns%len(q.sizes)] = len(batch)
	q.turns++
	return batch
}

// rides reports whether c can go in the batch that first has begun.
func (c *leaseCall) rides(first *leaseCall, now time.Time) bool {
	mine, its := c.due.Sub(now), first.due.Sub(now)
	return c.kind != leaseAlone && first.kind != leaseAlone && mine >= its/2 && mine <= its*2
}

// putBack takes calls that were not sent, or may be sent again, to the head of
// the queue, once each.
func (q *leaseQueue) putBack(calls []*leaseCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(slices.Clone(calls), q.waiting...)
	q.queued.Store(int64(len(q.waiting)))
}

func (q *leaseQueue) failAll(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.waiting {
		c.reply <- leaseReply{err: err}
	}
	q.waiting = nil
	q.queued.Store(0)
}

// rest ends the leader's work, unless somebody waits.
func (q *leaseQueue) rest() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		return false
	}
	q.leader = nil
	if q.closed {
		q.tx.close()
	}
	return true
}

// close ends all calls with relay.ErrClosed and closes the session. It returns
// once it is gone, or with ctx's error.
func (q *leaseQueue) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	leader := q.leader
	if leader == nil {
		q.tx.close()
	}
	q.mu.Unlock()
	q.life.end()
	return awaitEnd(ctx, leader)
}

// awaitEnd waits until a goroutine has ended, or for ctx. nil is none.
func awaitEnd(ctx context.Context, goroutine <-chan struct{}) error {
	if goroutine == nil {
		return nil
	}
	select {
	case <-goroutine:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("relay/postgres: close: %w", ctx.Err())
	}
}
