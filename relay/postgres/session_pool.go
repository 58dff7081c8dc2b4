package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// restAfter is how long a session may have been idle and still be used without
// asking whether it is there.
const restAfter = time.Second

// sessionPool runs short transactions on a few sessions of its own. It sets
// nothing on a session that would outlive a transaction, so a pooler in
// transaction mode may sit between.
type sessionPool struct {
	source         *source
	requestTimeout time.Duration
	life           lifetime
	slots          chan struct{} // has a token for each call that uses a session

	mu     sync.Mutex // guards idle and closed
	idle   []*session
	closed bool
}

func newSessionPool(source *source, requestTimeout time.Duration, size int) *sessionPool {
	return &sessionPool{
		source:         source,
		requestTimeout: requestTimeout,
		life:           newLifetime(),
		slots:          make(chan struct{}, size),
	}
}

// transact runs statements as one transaction in one round trip, and returns
// their answers. A refusal of the server has changed nothing. After any other
// error the outcome is unknown, and the session is closed.
func (p *sessionPool) transact(caller context.Context, statements ...statement) ([]answer, error) {
	ctx, stop := p.life.bound(caller)
	defer stop()
	if err := endOf(ctx); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, endOf(ctx)
	}
	s, err := p.session(ctx)
	if err != nil {
		return nil, endOr(ctx, err)
	}
	defer p.giveBack(s)
	answers, err := s.transact(ctx, p.requestTimeout, statements)
	if err != nil && s.broken {
		return nil, endOr(ctx, err)
	}
	return answers, err
}

// usable is nil while the pool is open and ctx has not ended.
func (p *sessionPool) usable(ctx context.Context) error {
	ctx, stop := p.life.bound(ctx)
	defer stop()
	return endOf(ctx)
}

// endOr is why ctx has ended, or err if it has not.
func endOr(ctx context.Context, err error) error {
	if end := endOf(ctx); end != nil {
		return end
	}
	return err
}

// session returns one that is idle and there, or a new one.
func (p *sessionPool) session(ctx context.Context) (*session, error) {
	for {
		s := p.takeIdle()
		if s == nil {
			return p.source.open(ctx)
		}
		if time.Since(s.usedAt) < restAfter {
			return s, nil
		}
		if _, err := s.ask(ctx, time.Now().Add(p.requestTimeout), stmt("select 1")); err == nil {
			return s, nil
		}
		s.close(time.Now().Add(goodbye))
		if err := endOf(ctx); err != nil {
			return nil, err
		}
	}
}

func (p *sessionPool) takeIdle() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	s := p.idle[last]
	p.idle = p.idle[:last]
	return s
}

func (p *sessionPool) giveBack(s *session) {
	p.mu.Lock()
	keep := !s.broken && !s.inTx && !p.closed
	if keep {
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if !keep {
		s.close(time.Now().Add(goodbye))
	}
}

// close ends all calls with relay.ErrClosed and closes the sessions. It returns
// once they are gone, or with ctx's error.
func (p *sessionPool) close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	p.life.end()
	for _, s := range idle {
		s.close(time.Now().Add(goodbye))
	}
	for range cap(p.slots) { // each call in flight has one
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("relay/postgres: close: %w", ctx.Err())
		}
	}
	return nil
}

// transact sends the transaction whole and reads its answers. The server gets
// three quarters of the time: it has to refuse before the client gives up, else
// a statement that waits for a row lock would run after its caller has gone.
func (s *session) transact(ctx context.Context, timeout time.Duration, statements []statement) ([]answer, error) {
	until := time.Now().Add(timeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	serverTime := millis(time.Until(until) * 3 / 4)
	all := []statement{
		// Whatever the role or the database defaults to: under serializable,
		// contenders would fail instead of waiting; with an asynchronous commit
		// a crash of the server would forget a token that was handed out.
		//
		// What is not set here can make no answer wrong. Arguments and results
		// are text in UTF-8 (see connect), numbers in it digits, which DateStyle,
		// IntervalStyle, TimeZone, bytea_output and standard_conforming_strings
		// leave alone. The idle timeouts and transaction_timeout end a session,
		// an error of the call. A read-only default is ErrReadOnly; search_path
		// and row_security are the user's to set.
		stmt("begin isolation level read committed"),
		stmt("set local synchronous_commit = on"),
		stmt("set local statement_timeout = " + strconv.FormatInt(serverTime, 10)),
		stmt("set local lock_timeout = 0"),
	}
	preamble := len(all)
	all = append(all, statements...)
	all = append(all, stmt("commit"))

	answers, err := s.ask(ctx, until, all...)
	if err != nil {
		if s.inTx && !s.broken {
			s.rollback(ctx, until)
		}
		return nil, err
	}
	return answers[preamble : len(all)-1], nil
}

// rollback leaves a transaction that the server refused. If it can't, the
// session stays in it and is not used again.
func (s *session) rollback(ctx context.Context, until time.Time) {
	_, _ = s.ask(ctx, until, stmt("rollback"))
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
