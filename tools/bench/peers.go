package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// peer is another way to a lock, for comparison.
type peer struct {
	name    string
	missing string // what to install, when it is not there

	// taking prepares callers with a name each; what it makes lasts until close.
	taking taking

	// waiting is nil for what has nothing of its own.
	waiting waitingPeer
}

type (
	taking      func(ctx context.Context, callers int) (op operation, close func(), err error)
	waitingPeer func(context.Context) (w waiting, close func(), err error)
)

// measurePeers compares the peers with pgbench, as goals 1 and 2 do the Locker.
func measurePeers(ctx context.Context, b *bench) error {
	others, stopPeers, err := startPeers(ctx)
	if err != nil {
		return err
	}
	defer stopPeers()
	for _, callers := range []int{1, 16} {
		if err := b.comparePeers(ctx, append(b.poolPeers(), others...), callers); err != nil {
			return err
		}
	}
	return nil
}

// startPeers starts the servers that are installed.
func startPeers(ctx context.Context) (peers []peer, stop func(), err error) {
	redisPeers, stopRedis, err := startRedis(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("redis-server: %w", err)
	}
	etcdPeer, stopEtcd, err := startEtcd(ctx)
	if err != nil {
		stopRedis()
		return nil, nil, fmt.Errorf("etcd: %w", err)
	}
	return append(redisPeers, etcdPeer), func() { stopRedis(); stopEtcd() }, nil
}

// peersWaiting are the ways in which the peers wait.
func peersWaiting(ctx context.Context) (ways []waiting, closeAll func(), err error) {
	peers, stop, err := startPeers(ctx)
	if err != nil {
		return nil, nil, err
	}
	closers := []func(){stop}
	closeAll = func() {
		for _, c := range slices.Backward(closers) {
			c()
		}
	}
	for _, p := range peers {
		if p.waiting == nil {
			continue
		}
		way, closeWay, err := p.waiting(ctx)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("%s: %w", p.name, err)
		}
		ways, closers = append(ways, way), append(closers, closeWay)
	}
	return ways, closeAll, nil
}

func (b *bench) comparePeers(ctx context.Context, peers []peer, callers int) error {
	floor, err := b.lockFloor(ctx, callers)
	if err != nil {
		return err
	}
	defer floor.close()
	subjects := floor.subjects
	for _, p := range peers {
		if p.missing != "" {
			continue
		}
		op, closePeer, err := p.taking(ctx, callers)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		defer closePeer()
		subjects = append(subjects, repeat(p.name, callers, op))
	}
	got, err := compare(ctx, b.options, subjects...)
	if err != nil {
		return err
	}
	floors, rest := got[:len(floor.subjects)], got[len(floor.subjects):]
	for _, p := range peers {
		what := p.name + ", lock and unlock, " + plural(callers, "caller")
		if p.missing != "" {
			b.add(line{what: what, skip: "install " + p.missing})
			continue
		}
		b.add(floor.line(0, what, rest[0], floors, bound{}))
		rest = rest[1:]
	}
	return nil
}

// poolPeers are what one would write with pgx alone.
func (b *bench) poolPeers() []peer {
	pooled := func(mode pgx.QueryExecMode) taking {
		return func(ctx context.Context, callers int) (operation, func(), error) {
			cfg := b.named("relay_bench_pool")
			cfg.MaxConns = int32(callers)
			cfg.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(ctx, cfg)
			if err != nil {
				return nil, nil, err
			}
			return func(ctx context.Context, caller int) error {
				return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return lockWith(ctx, c.Conn(), 6_000_000+caller) })
			}, pool.Close, nil
		}
	}
	dial := func(_ context.Context, callers int) (operation, func(), error) {
		cfg := b.named("relay_bench_dial").ConnConfig
		return func(ctx context.Context, caller int) error {
			conn, err := pgx.ConnectConfig(ctx, cfg)
			if err != nil {
				return err
			}
			err = lockWith(ctx, conn, 7_000_000+caller)
			_ = conn.Close(ctx)
			return err
		}, func() {}, nil
	}
	return []peer{
		{name: "pool, prepared", taking: pooled(pgx.QueryExecModeCacheStatement)},
		{name: "pool, unprepared", taking: pooled(pgx.QueryExecModeDescribeExec)},
		{name: "dial for each lock", taking: dial},
	}
}

func lockWith(ctx context.Context, conn *pgx.Conn, key int) error {
	for _, sql := range []string{lockSQL, unlockSQL} {
		var done bool
		if err := conn.QueryRow(ctx, sql, key).Scan(&done); err != nil {
			return err
		}
		if !done {
			return errNotTrue
		}
	}
	return nil
}
