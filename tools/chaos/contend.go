//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// candidate stands for a role, under one owner after the other.
type candidate struct {
	*child
	role, name string
	owner      string
	count      int           // of owners and writes, so that no two have one name
	last       relay.Token   // that the owner was granted
	lapses     time.Duration // when its lease has lapsed for certain; 0 while nothing is
}

// contendForLease takes, renews, loses and gives up a role, and writes under
// its token in time and too late.
func (c *child) contendForLease(ctx context.Context, role string, n int) {
	cand := &candidate{child: c, role: role, name: fmt.Sprintf("%s/%d", c.Name, n)}
	cand.changeOwner()
	for ctx.Err() == nil {
		ttl := 5*time.Millisecond + upTo(15*time.Millisecond)
		lease, err := cand.take(ctx, ttl)
		var other *relay.HeldError
		switch {
		case err == nil:
			cand.use(ctx, lease)
			pause(ctx, upTo(ttl*3/2))
		case errors.As(err, &other): // be there when it lapses
			left := time.Until(other.Lease.ExpiresAt) + upTo(2*time.Millisecond) - time.Millisecond
			pause(ctx, min(left, 50*time.Millisecond))
		default:
			cand.lapses = 0 // it may have been renewed
			c.fail(ctx, err)
		}
	}
}

func (c *candidate) next() string {
	c.count++
	return fmt.Sprintf("%s/%d", c.name, c.count)
}

func (c *candidate) changeOwner() { c.owner, c.last, c.lapses = c.next(), 0, 0 }

func (c *candidate) take(ctx context.Context, ttl time.Duration) (relay.Lease, error) {
	began := time.Since(c.start)
	lease, err := c.leases.TryAcquireOrRenew(ctx, c.role, c.owner, ttl)
	ended := time.Since(c.start)
	if err != nil {
		return lease, err
	}
	r := record{Kind: granted, Name: c.role, Owner: c.owner, Token: int64(lease.Token), Began: began, Ended: ended}
	if lease.Token == c.last {
		r.Kind, r.Lapsed = renewed, c.lapses > 0 && began > c.lapses
	}
	c.say(r)
	c.last, c.lapses = lease.Token, ended+ttl
	return lease, nil
}

// use writes now and then, and gives the lease up now and then.
func (c *candidate) use(ctx context.Context, lease relay.Lease) {
	if oneIn(3) {
		c.write(ctx, lease, c.next())
	}
	switch {
	case oneIn(8):
		err := c.leases.Release(ctx, lease)
		if err == nil {
			c.lapses = time.Since(c.start)
		} else if !errors.Is(err, relay.ErrNotHeld) {
			c.fail(ctx, err)
		}
	case oneIn(8):
		c.changeOwner()
	}
}

// write writes under a lease's token, half of the time after it has lapsed.
func (c *child) write(ctx context.Context, lease relay.Lease, id string) {
	if oneIn(2) {
		pause(ctx, upTo(40*time.Millisecond))
	}
	err := pgx.BeginTxFunc(ctx, c.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if err := postgres.AdmitTx(ctx, tx, lease.Role, lease.Token); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "insert into chaos_writes (role, token, id) values ($1, $2, $3)", lease.Role, lease.Token, id)
		return err
	})
	r := record{Kind: written, Name: lease.Role, Owner: lease.Owner, Token: int64(lease.Token), ID: id}
	switch {
	case err == nil:
		c.say(r)
	case errors.Is(err, relay.ErrStaleToken):
		r.Kind = refused
		c.say(r)
	default:
		c.fail(ctx, err)
	}
}

// contendForLock takes a lock and gives it up. What it says of a hold counts
// only if the release was answered with yes: a session that died in between
// freed the lock at once, and its holder hears of it a little later.
func (c *child) contendForLock(ctx context.Context, name string, n int) {
	take := c.locker.Acquire
	if n == 1 {
		take = c.locker.TryAcquire
	}
	for ctx.Err() == nil {
		waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
		lock, err := take(waiting, name)
		cancel()
		if err != nil {
			c.fail(ctx, err)
			pause(ctx, upTo(10*time.Millisecond))
			continue
		}
		r := record{Kind: held, Name: name, Owner: fmt.Sprintf("%s/%d", c.Name, n)}
		lookErr := c.look(ctx, name, &r.From, &r.Holders)
		pause(ctx, upTo(3*time.Millisecond))
		lookErr = errors.Join(lookErr, c.look(ctx, name, &r.To, new(int)))
		err = lock.Release(ctx)
		switch {
		case errors.Is(err, relay.ErrLost):
			r.Kind = lockLost
			c.say(r)
		case err != nil || lookErr != nil:
			c.fail(ctx, errors.Join(err, lookErr))
		default:
			c.say(r)
		}
		pause(ctx, upTo(5*time.Millisecond))
	}
}

// look asks the server for the next tick of the clock that all processes share,
// and how many sessions have the lock. A crash must not turn the clock back.
func (c *child) look(ctx context.Context, name string, tick *int64, holders *int) error {
	return c.pool.QueryRow(ctx, `select nextval('chaos_ticks'), (
			select count(distinct pid) from pg_locks where locktype = 'advisory' and granted
			and objsubid = 1 and (classid::int8 << 32) | objid::int8 = $1
		) + 0 * length(set_config('synchronous_commit', 'on', true))`,
		postgres.LockKey(name)).Scan(tick, holders)
}
