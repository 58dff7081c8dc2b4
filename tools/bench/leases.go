package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

const (
	leasesName = "relay_bench_leases"
	leaseTTL   = 10 * time.Minute // nothing lapses while we measure
	poolSize   = 16

	// A table of its own, so that the counts of relay_leases are those of the
	// LeaseStore.
	floorTableSQL = "create table if not exists bench_leases (like relay_leases including all) with (fillfactor = 50)"

	// What somebody would write for one lease: one statement for a grant or a
	// renewal, one for a release.
	floorTakeSQL = `insert into bench_leases as t (role, owner, token, acquired_at, expires_at, ttl)
		values ($1, $2, 1, now(), now() + $3::interval, $3::interval)
		on conflict (role) do update set owner = excluded.owner, expires_at = excluded.expires_at, ttl = excluded.ttl,
			token = t.token + case when t.owner = excluded.owner and t.expires_at > now() then 0 else 1 end
		where t.owner = excluded.owner or t.expires_at <= now()
		returning token`
	floorReleaseSQL = "update bench_leases set expires_at = now() where role = $1 and owner = $2 and token = $3 and expires_at > now()"
)

// measureLeases compares grants and releases with those of a pool.
func measureLeases(ctx context.Context, b *bench) error {
	if _, err := b.admin.Exec(ctx, floorTableSQL); err != nil {
		return err
	}
	for _, goal := range []struct {
		callers int
		bound   bound
	}{{1, bound{}}, {16, atLeast(1.6)}, {b.crowd, atLeast(5)}} {
		if err := b.leaseRates(ctx, goal.callers, goal.bound); err != nil {
			return fmt.Errorf("%d callers: %w", goal.callers, err)
		}
	}
	return nil
}

func (b *bench) leaseRates(ctx context.Context, callers int, bound bound) error {
	store, closeStore, err := b.newLeaseStore(b.named(leasesName))
	if err != nil {
		return err
	}
	defer closeStore()
	cfg := b.named("relay_bench_pool")
	cfg.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	roles := names("role", callers)
	got, err := compare(ctx, b.options,
		repeat("LeaseStore", callers, acquireAndRelease(store, roles)),
		repeat("pool", callers, pooledAcquireAndRelease(pool, roles)))
	if err != nil {
		return err
	}
	l := line{goal: 6, what: "acquire and release of a lease, " + plural(callers, "caller"),
		value: perSecond(got[0].rate()), base: fmt.Sprintf("pool of %d", poolSize), floor: perSecond(got[1].rate()),
		rounds: got[0].over(got[1]), bound: bound}
	b.add(l)
	return nil
}

func (b *bench) newLeaseStore(cfg *pgxpool.Config) (*postgres.LeaseStore, func(), error) {
	store, err := postgres.NewLeaseStore(cfg, postgres.LeaseStoreConfig{})
	if err != nil {
		return nil, nil, err
	}
	return store, func() { _ = store.Close(context.Background()) }, nil
}

// acquireAndRelease checks that each grant has a higher token than the last.
func acquireAndRelease(store *postgres.LeaseStore, roles []string) operation {
	last := make([]relay.Token, len(roles))
	return func(ctx context.Context, caller int) error {
		lease, err := store.TryAcquireOrRenew(ctx, roles[caller], "bench", leaseTTL)
		if err != nil {
			return err
		}
		if lease.Token <= last[caller] {
			return fmt.Errorf("token %d after %d", lease.Token, last[caller])
		}
		last[caller] = lease.Token
		return store.Release(ctx, lease)
	}
}

func pooledAcquireAndRelease(pool *pgxpool.Pool, roles []string) operation {
	return func(ctx context.Context, caller int) error {
		var token int64
		if err := pool.QueryRow(ctx, floorTakeSQL, roles[caller], "bench", leaseTTL).Scan(&token); err != nil {
			return err
		}
		tag, err := pool.Exec(ctx, floorReleaseSQL, roles[caller], "bench", token)
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("the release of token %d matched %d rows", token, tag.RowsAffected())
		}
		return err
	}
}
