package relay

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/relay-samples/relay-go/relay/internal/trust"
)

// candidate is one campaign of an instance and the term that comes of it.
type candidate struct {
	*LeaseElector
	role  string
	owner string // with this candidate's nonce

	lease   Lease         // as granted
	sent    trust.Instant // just before the request for it was sent
	granted time.Time     // when the answer came
}

// newCandidate draws the nonce that tells this candidate's requests from those
// of every other, in this process and in one of the same name: a retry of a
// request whose answer was lost is then a renewal, and a lease can be
// recognised as one's own.
func (e *LeaseElector) newCandidate(role string) *candidate {
	return &candidate{LeaseElector: e, role: role, owner: e.cfg.Owner + "/" + crand.Text()}
}

// campaign tries until it is granted the lease, and returns true; or until ctx
// ends, and returns false with nothing held.
func (c *candidate) campaign(ctx context.Context) (granted bool) {
	doubt := false // a request without a clear answer may have been granted
	defer func() { // also when an observer panics
		if doubt && !granted {
			c.giveUp(ctx)
		}
	}()
	for misled := false; ctx.Err() == nil; {
		sent := trust.Now()
		// Not cancelled with ctx: a request that was given up could still
		// reach the store, after the last question who holds the role.
		lease, err := c.request(context.WithoutCancel(ctx))
		took := trust.Now().Since(sent)
		if err == nil {
			c.lease, c.sent, c.granted = lease, sent, time.Now()
			err = c.trustworthy(lease, took)
		}
		if err == nil && ctx.Err() == nil {
			return true
		}
		denied := errors.Is(err, ErrNotAcquired)
		doubt = doubt || !denied
		if ctx.Err() != nil {
			break
		}
		c.turn.refused(c.event(Event{Took: took, Err: err}))
		if denied {
			misled = c.awaitRelease(ctx, misled)
		} else {
			c.turn.pause(ctx)
		}
	}
	return false
}

// trustworthy refuses a grant to lead under. One that was too long on its way
// may have lapsed; one that is not ours is the store's mistake.
func (c *candidate) trustworthy(lease Lease, took time.Duration) error {
	switch {
	case lease.Role != c.role || lease.Owner != c.owner || lease.Token < 1:
		return fmt.Errorf("relay: the store granted role %q to %q with token %d when %q asked for %q",
			lease.Role, lease.Owner, lease.Token, c.owner, c.role)
	case took >= c.cfg.TTL-c.cfg.Margin:
		return fmt.Errorf("relay: the lease was granted %v ago, too long to trust it", took)
	}
	return nil
}

// request asks for the lease, or for its renewal, once.
func (c *candidate) request(ctx context.Context) (Lease, error) {
	call, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	return c.store.TryAcquireOrRenew(call, c.role, c.owner, c.cfg.TTL)
}

// awaitRelease waits as long as a pause does, or until the store hints that the
// role may be free. It returns whether it followed a hint that came at once. If
// the next try is denied all the same, a second such hint is not believed, so
// that one which is always wrong makes no busy loop.
func (c *candidate) awaitRelease(ctx context.Context, misled bool) (atOnce bool) {
	pause := c.turn.nextPause()
	wait, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	began := time.Now()
	if w, ok := c.store.(ReleaseWaiter); ok && w.WaitReleased(wait, c.role) == nil {
		atOnce = time.Since(began) < pause/16
		if !atOnce || !misled {
			return atOnce
		}
	}
	<-wait.Done()
	return false
}

// serve leads for one term, and gives the lease up however lead ends: after it
// has returned or panicked, never under it.
func (c *candidate) serve(ctx context.Context, lead func(ctx context.Context, term Term) error) verdict {
	led, cancel := context.WithCancelCause(ctx)
	term := startTerm(c.lease.Token, c.sent, c.cfg, cancel, func(cause error) {
		c.turn.observer.Emit(c.event(Event{Kind: EventLost, Err: cause}))
	})
	join := c.startRenewing(context.WithoutCancel(ctx), term)
	defer func() { // also when lead panics or calls runtime.Goexit
		term.end(context.Canceled)
		join()
		term.telling.Wait()
		c.giveUp(ctx)
	}()
	c.turn.observer.Emit(c.event(Event{Kind: EventElected}))
	err := lead(led, Term{term})
	term.returned()
	return c.turn.conclude(ctx, c.role, c.granted, term.over, err)
}

// startRenewing renews the lease from a goroutine of its own, until the term is
// over. What it returns waits for the renewal that may be under way then: one
// that were still to reach the store could take the lease again after it was
// released.
func (c *candidate) startRenewing(ctx context.Context, term *termState) (join func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.renew(ctx, term)
	}()
	return func() { <-done }
}

// renew renews until the term is over. ctx never ends: the renewals go on while
// the work winds down.
func (c *candidate) renew(ctx context.Context, term *termState) {
	timer := time.NewTimer(c.untilRenewal(time.Now()))
	defer timer.Stop()
	for {
		select {
		case <-term.over:
			return
		case <-timer.C:
		}
		if !term.valid() { // the select picks any that is ready
			return
		}
		sent := trust.Now() // before the request: a slow reply must not lengthen the term
		lease, err := c.request(ctx)
		took := trust.Now().Since(sent)
		next := c.untilRenewal(time.Now())
		switch {
		case err == nil && (lease.Token != term.token || lease.Owner != c.owner):
			term.lose(fmt.Errorf("%w: a renewal of token %d by %q was answered with token %d of %q",
				ErrLost, term.token, c.owner, lease.Token, lease.Owner))
		case err == nil:
			if term.renewed(sent) {
				c.turn.observer.Emit(c.event(Event{Kind: EventRenewed, Took: took}))
			}
		case errors.Is(err, ErrNotAcquired):
			term.lose(fmt.Errorf("%w: %w", ErrLost, err))
		default:
			c.turn.observer.Emit(c.event(Event{Kind: EventFailed, Took: took, Err: fmt.Errorf("renew: %w", err)}))
			next = min(next, max(c.cfg.RetryInterval-took, 0))
		}
		timer.Reset(next)
	}
}

// giveUp releases whatever the store holds for this candidate. It asks first:
// after a loss, or after a request that was not answered, only the store knows.
// If it can't tell, the lease of the grant is released on the chance.
//
// ctx may have ended; each of the two calls is bounded by RequestTimeout.
func (c *candidate) giveUp(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	began := time.Now()
	held, err := c.current(ctx)
	switch {
	case errors.Is(err, ErrNotHeld), err == nil && held.Owner != c.owner:
		return // nothing of ours is left
	case err != nil && c.lease.Token == 0:
		c.turn.released(c.event(Event{Took: time.Since(began), Err: err}))
		return
	case err != nil:
		held = c.lease
	}
	err = c.release(ctx, held)
	c.turn.released(c.event(Event{Took: time.Since(began), Err: err}))
}

func (c *candidate) current(ctx context.Context) (Lease, error) {
	call, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	return c.store.Current(call, c.role)
}

func (c *candidate) release(ctx context.Context, lease Lease) error {
	call, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	return c.store.Release(call, lease)
}

// event fills in who it is about.
func (c *candidate) event(e Event) Event {
	e.Name, e.Owner, e.Token = c.role, c.owner, c.lease.Token
	return e
}
