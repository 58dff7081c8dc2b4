package postgres

import (
	"cmp"
	"fmt"
	"time"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/internal/pause"
)

const (
	defaultLockTTL = 30 * time.Second
	maxLockTTL     = 24 * 24 * time.Hour // the server counts milliseconds in 31 bits
	defaultMaxHeld = 1000
)

// LockerConfig tunes a Locker. The zero value works.
type LockerConfig struct {
	// TTL is how long the server keeps a lock whose holder it no longer hears
	// from, 30 s by default and 24 days at most. The holder pings every TTL/3,
	// and steps down by its own clock at TTL − Margin.
	TTL time.Duration

	// Margin is how much sooner than the server the holder gives up, TTL/10 by
	// default. It has to cover the difference in rate of the two clocks.
	Margin time.Duration

	// RequestTimeout bounds a Release, and each statement while nothing is held,
	// TTL/6 by default and 1 h at most; the server gives up after three quarters
	// of it. While locks are held a statement without an answer is waited for
	// until TTL − Margin, since giving up would cost them all. Opening a session
	// is bounded by it or by 5 s, whichever is longer. Refused unless
	// TTL/3 + RequestTimeout + Margin < TTL.
	RequestTimeout time.Duration

	// RetryInterval, or P, is the longest wait between two tries of Acquire,
	// TTL/6 by default. The wait is P/2 + Jitter(P/2), and ends at once when
	// another Locker's release wakes the waiter.
	RetryInterval time.Duration

	// MaxHeld bounds the names of this Locker that are held or awaited, 1000 by
	// default. Each takes a place in the server's lock table, which everybody
	// shares and which ends near 12,800 with the default settings. What comes
	// on top gets ErrTooMany.
	MaxHeld int

	// AllowProxy admits a connection through a proxy, which is otherwise
	// ErrPooled. Set it only for one that gives each client a server session
	// of its own until the client leaves (PgBouncer's pool_mode = session).
	AllowProxy bool

	// ApplicationName tells in pg_stat_activity who holds a lock. By default
	// it is the connection string's, or "relay".
	ApplicationName string

	// Jitter returns a duration from 0 to max. By default it is random; a
	// simulation may seed it. It must be safe for concurrent use, and return at
	// once.
	Jitter func(max time.Duration) time.Duration

	// Observer is told of locks that are lost or released, of releases that
	// fail, and once of ErrNoDeadMan. It may call the Locker. A call of it may
	// still be under way when Close has returned.
	Observer relay.Observer
}

func (c LockerConfig) withDefaults() LockerConfig {
	c.TTL = cmp.Or(c.TTL, defaultLockTTL)
	c.Margin = cmp.Or(c.Margin, c.TTL/10)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, min(c.TTL/6, maxRequestTimeout))
	c.RetryInterval = cmp.Or(c.RetryInterval, c.TTL/6)
	c.MaxHeld = cmp.Or(c.MaxHeld, defaultMaxHeld)
	return c
}

// validate is for a config that has its defaults.
func (c LockerConfig) validate() error {
	if err := checkRequestTimeout(c.RequestTimeout); err != nil {
		return err
	}
	switch {
	case c.TTL < time.Millisecond || c.TTL > maxLockTTL:
		return fmt.Errorf("relay/postgres: %w: TTL %v is not between %v and %v",
			relay.ErrInvalidTTL, c.TTL, time.Millisecond, maxLockTTL)
	case c.Margin < 0:
		return fmt.Errorf("relay/postgres: Margin %v is negative", c.Margin)
	case c.Margin >= c.TTL-c.TTL/3-c.RequestTimeout: // a sum could overflow
		return fmt.Errorf("relay/postgres: TTL/3 %v + RequestTimeout %v + Margin %v >= TTL %v",
			c.TTL/3, c.RequestTimeout, c.Margin, c.TTL)
	case c.RetryInterval < 0:
		return fmt.Errorf("relay/postgres: RetryInterval %v is negative", c.RetryInterval)
	case c.MaxHeld < 0:
		return fmt.Errorf("relay/postgres: MaxHeld %d is negative", c.MaxHeld)
	}
	return nil
}

// wait is how long a waiter waits before its next try.
func (c LockerConfig) wait() time.Duration { return pause.Next(c.RetryInterval, c.Jitter) }
