package relay

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/relay-samples/relay-go/relay/internal/trust"
)

// FencedLeaderElector runs work on one instance at a time and hands it a Term,
// whose token a resource can check. A leader that is frozen or cut off loses
// the role after a known time, and its late writes can be refused.
type FencedLeaderElector interface {
	// Run campaigns for role until it is elected and then calls lead, once for
	// each term, on the goroutine that called Run. The context that lead gets
	// is cancelled with cause ErrLost when the term is lost, and with ctx when
	// that ends; the lease is renewed until lead has returned, and released
	// only then.
	//
	// What Run does with lead's error, with loss, with ctx and with a panic is
	// said at LeaderElector.
	Run(ctx context.Context, role string, lead func(ctx context.Context, term Term) error) error
}

// DefaultTTL is the time to live of a LeaseElector's leases.
const DefaultTTL = 30 * time.Second

// maxRequestTimeout bounds RequestTimeout.
const maxRequestTimeout = time.Hour

// nonceBytes is the length of crypto/rand.Text, which is 26 base32 letters.
const nonceBytes = 26

// maxOwnerBytes leaves room for "/" and the nonce.
const maxOwnerBytes = maxNameBytes - 1 - nonceBytes

// LeaseElectorConfig tunes a LeaseElector. The zero value works. It is refused
// unless RenewInterval + RequestTimeout + Margin < TTL: a renewal must be able
// to begin and to be answered while the term is still trusted.
type LeaseElectorConfig struct {
	// Owner names this instance in the store, in at most 228 bytes. A random
	// nonce is added for each term, so that two processes of one name are two
	// owners. Empty is "<hostname>/<pid>".
	Owner string

	// TTL is how long a lease lives after a renewal, by the store's clock. 0 is
	// DefaultTTL.
	TTL time.Duration

	// RenewInterval is the time from one renewal to the next. 0 is TTL/3.
	RenewInterval time.Duration

	// Margin is how long before its lease a term ends. It pays for clocks that
	// run at different rates: they must differ by less than Margin/TTL. 0 is
	// TTL/10.
	Margin time.Duration

	// RequestTimeout bounds each call to the store, in at most 1 h. 0 is TTL/6,
	// or 1 h if that is less.
	RequestTimeout time.Duration

	// RetryInterval is the longest wait between two tries, P. The wait is P/2 +
	// Jitter(P/2). A failed renewal is tried again P after it began, or when the
	// next one is due if that is sooner. 0 is TTL/6.
	RetryInterval time.Duration

	// StallAfter ends a term when lead has not called Term.Progress for that
	// long, also while it winds down: renewals stop, and the lease lapses under
	// the stuck work, unreleased, for another instance to take over. 0 is off.
	StallAfter time.Duration

	// HoldAtLeast keeps the lease for that long after the grant, also when lead
	// returns sooner, so that a short job does not run on every instance in
	// turn. Loss and the end of ctx cut it short; ErrResign and ErrStaleToken
	// skip it. 0 is off.
	HoldAtLeast time.Duration

	// Jitter returns a random duration from 0 to max. nil draws from
	// math/rand/v2; a simulation passes a seeded one.
	Jitter func(max time.Duration) time.Duration

	Observer Observer
}

// withDefaults fills in what is zero.
func (c LeaseElectorConfig) withDefaults() LeaseElectorConfig {
	c.Owner = cmp.Or(c.Owner, defaultOwner())
	c.TTL = cmp.Or(c.TTL, DefaultTTL)
	c.RenewInterval = cmp.Or(c.RenewInterval, c.TTL/3)
	c.Margin = cmp.Or(c.Margin, c.TTL/10)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, min(c.TTL/6, maxRequestTimeout))
	c.RetryInterval = cmp.Or(c.RetryInterval, c.TTL/6)
	return c
}

// validate refuses what can't work. Each part is compared with the TTL before
// the sum is, so that the sum can't overflow.
func (c LeaseElectorConfig) validate() error {
	if err := validateName("owner", c.Owner, maxOwnerBytes); err != nil {
		return err
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"TTL", c.TTL}, {"RenewInterval", c.RenewInterval}, {"Margin", c.Margin},
		{"RequestTimeout", c.RequestTimeout}, {"StallAfter", c.StallAfter},
	} {
		if d.value < 0 {
			return fmt.Errorf("%s %v is negative", d.name, d.value)
		}
	}
	if err := ValidateTTL(c.TTL); err != nil {
		return err
	}
	if c.RequestTimeout > maxRequestTimeout {
		return fmt.Errorf("RequestTimeout %v is more than %v", c.RequestTimeout, maxRequestTimeout)
	}
	if max(c.RenewInterval, c.RequestTimeout, c.Margin) >= c.TTL ||
		c.RenewInterval+c.RequestTimeout+c.Margin >= c.TTL {
		return fmt.Errorf("RenewInterval + RequestTimeout + Margin < TTL does not hold: %v + %v + %v against %v",
			c.RenewInterval, c.RequestTimeout, c.Margin, c.TTL)
	}
	return nil
}

func defaultOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return fmt.Sprintf("%s/%d", cmp.Or(host, "localhost"), os.Getpid())
}

// LeaseElector elects over a LeaseStore: it holds the role's lease, and renews
// it, while the work runs.
type LeaseElector struct {
	store LeaseStore
	cfg   LeaseElectorConfig
	turn  turn
	phase time.Duration // of the renewals; see untilRenewal
}

var _ FencedLeaderElector = (*LeaseElector)(nil)

// NewLeaseElector returns an elector over s.
func NewLeaseElector(s LeaseStore, cfg LeaseElectorConfig) (*LeaseElector, error) {
	if s == nil {
		return nil, errors.New("relay: NewLeaseElector: the LeaseStore is nil")
	}
	cfg = cfg.withDefaults()
	t := turn{retry: cfg.RetryInterval, holdAtLeast: cfg.HoldAtLeast, jitter: cfg.Jitter, observer: cfg.Observer}
	if err := errors.Join(cfg.validate(), t.validate()); err != nil {
		return nil, fmt.Errorf("relay: NewLeaseElector: %w", err)
	}
	return &LeaseElector{
		store: s,
		cfg:   cfg,
		turn:  t,
		phase: time.Duration(hash64(cfg.Owner) % uint64(cfg.RenewInterval)),
	}, nil
}

// Run implements FencedLeaderElector.
func (e *LeaseElector) Run(ctx context.Context, role string, lead func(ctx context.Context, term Term) error) error {
	switch {
	case e == nil || e.store == nil:
		return errors.New("relay: LeaseElector.Run: not made by NewLeaseElector")
	case lead == nil:
		return errors.New("relay: LeaseElector.Run: lead is nil")
	}
	if err := validateName("role", role, maxRoleBytes); err != nil {
		return err
	}
	for {
		c := e.newCandidate(role)
		if !c.campaign(ctx) {
			return context.Cause(ctx)
		}
		v := c.serve(ctx, lead)
		if v.done {
			return v.err
		}
		sleep(ctx, v.rest)
	}
}

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

// untilRenewal returns the time from now to the next renewal. Renewals fall on
// whole multiples of the interval since the Unix epoch, shifted by a hash of
// the configured owner: all the roles of a process renew at one moment, and can
// share a statement; different processes don't.
func (e *LeaseElector) untilRenewal(now time.Time) time.Duration {
	interval := e.cfg.RenewInterval
	past := (time.Duration(now.UnixNano()) - e.phase) % interval
	if past < 0 { // before the epoch, or within the first interval
		past += interval
	}
	return interval - past
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
