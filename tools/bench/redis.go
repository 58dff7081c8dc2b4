package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const (
	redisTTL   = 30 * time.Second
	redisTries = 1000 // of one who waits
)

// startRedis runs a server that keeps nothing on disk, on a unix socket.
func startRedis(ctx context.Context) (peers []peer, stop func(), err error) {
	const lock, sync = "redislock", "redsync"
	program, err := exec.LookPath("redis-server")
	if err != nil {
		const missing = "redis-server"
		return []peer{{name: lock, missing: missing}, {name: sync, missing: missing}}, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "relay-bench-")
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	server, err := guard(dir, program, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := server.await(ctx, func() error { return listens("unix", socket) }); err != nil {
		server.stop()
		return nil, nil, err
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, PoolSize: 2 * poolSize})
	stop = func() {
		_ = client.Close()
		server.stop()
	}
	return []peer{
		{name: lock, taking: takeRedislock(client), waiting: waitRedislock(client)},
		{name: sync, taking: takeRedsync(client), waiting: waitRedsync(client)},
	}, stop, nil
}

func takeRedislock(client *redis.Client) taking {
	return func(_ context.Context, callers int) (operation, func(), error) {
		keys := names("redislock", callers)
		locker := redislock.New(client)
		return func(ctx context.Context, caller int) error {
			lock, err := locker.Obtain(ctx, keys[caller], redisTTL, nil)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}, func() {}, nil
	}
}

func takeRedsync(client *redis.Client) taking {
	return func(_ context.Context, callers int) (operation, func(), error) {
		keys := names("redsync", callers)
		locks := redsync.New(goredis.NewPool(client))
		return func(ctx context.Context, caller int) error {
			mutex := locks.NewMutex(keys[caller], redsync.WithExpiry(redisTTL), redsync.WithTries(1))
			if err := mutex.LockContext(ctx); err != nil {
				return err
			}
			_, err := mutex.UnlockContext(ctx)
			return err
		}, func() {}, nil
	}
}

// waitRedislock tries again at a pace that its user has to choose.
func waitRedislock(client *redis.Client) waitingPeer {
	return func(context.Context) (waiting, func(), error) {
		locker := redislock.New(client)
		side := func(ctx context.Context) (func(context.Context) error, error) {
			pace := redislock.LimitRetry(redislock.LinearBackoff(pollPause), redisTries)
			lock, err := locker.Obtain(ctx, "waited", redisTTL, &redislock.Options{RetryStrategy: pace})
			if err != nil {
				return nil, err
			}
			return lock.Release, nil
		}
		return waiting{name: "redislock, trying every " + pollPause.String(), take: side, wait: side, spread: pollPause},
			func() {}, nil
	}
}

// waitRedsync tries again at its own pace.
func waitRedsync(client *redis.Client) waitingPeer {
	return func(context.Context) (waiting, func(), error) {
		locks := redsync.New(goredis.NewPool(client))
		side := func(ctx context.Context) (func(context.Context) error, error) {
			mutex := locks.NewMutex("waited-too", redsync.WithExpiry(redisTTL), redsync.WithTries(redisTries))
			release := func(ctx context.Context) error {
				_, err := mutex.UnlockContext(ctx)
				return err
			}
			return release, mutex.LockContext(ctx)
		}
		return waiting{name: "redsync, at its own pace", take: side, wait: side, spread: pollPause}, func() {}, nil
	}
}
