package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
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
