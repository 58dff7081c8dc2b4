package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

const (
	coldPause   = 5 * time.Millisecond   // of idleness, before a cold round trip
	settlePause = 20 * time.Millisecond  // until a waiter surely waits
	pollPause   = 100 * time.Millisecond // of those who poll
)

// waiting is a way in which one waits for another to let go.
type waiting struct {
	name string
	goal int // 0: a comparison

	// take is the holder's side, and wait the waiter's, which blocks. Each
	// returns how to let go.
	take, wait func(context.Context) (release func(context.Context) error, err error)

	spread time.Duration // the longest that the holder goes on holding, by chance
}

// measureHandover tells what passes until another Locker's Acquire has returned:
// since the Release has, which is how the figures of the goal were taken, and
// since it was called. Both ways of counting are for both ends of a wait: the
// server frees the lock somewhere in between.
func measureHandover(ctx context.Context, b *bench) error {
	ways, closeWays, err := b.waitingWays(ctx)
	if err != nil {
		return err
	}
	defer closeWays()
	if b.wants(0) {
		others, closeOthers, err := peersWaiting(ctx)
		if err != nil {
			return err
		}
		defer closeOthers()
		ways = append(ways, others...)
	}

	conn, closeConn, err := b.session(ctx, "relay_bench_cold")
	if err != nil {
		return err
	}
	defer closeConn()
	if err := prepare(ctx, conn, "select true"); err != nil {
		return err
	}
	var cold []time.Duration
	took, after := make([][]time.Duration, len(ways)), make([][]time.Duration, len(ways))
	for round := range 4 * b.rounds {
		for i, way := range ways {
			if way.goal == 0 && round%4 > 0 {
				continue // slow, and only for comparison
			}
			sinceCall, sinceReturn, err := handOver(ctx, way)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			took[i], after[i] = append(took[i], sinceCall), append(after[i], sinceReturn)
		}
		trip, err := coldTrip(ctx, conn)
		if err != nil {
			return err
		}
		cold = append(cold, trip)
	}
	for i, way := range ways {
		add := func(what string, took []time.Duration, bound bound) {
			b.add(line{goal: way.goal, what: "hand-over, " + way.name + what, value: millis(medianTime(took)),
				base: "cold round trip", floor: millis(medianTime(cold)), bound: bound,
				rounds: []float64{float64(medianTime(took)) / float64(medianTime(cold))}})
		}
		var goal bound
		if way.goal != 0 {
			goal = atMost(2.5)
		}
		add(", after the release", after[i], goal)
		add(", since its call", took[i], bound{})
	}
	return nil
}

// coldTrip is the time of a statement after a while of idleness.
func coldTrip(ctx context.Context, conn *pgconn.PgConn) (time.Duration, error) {
	time.Sleep(coldPause)
	begun := time.Now()
	err := expectTrue(ctx, conn, "select true")
	return time.Since(begun), err
}

// handOver is one hand-over. Whoever waits got it while the holder did not let
// go would be an error: it would be no hand-over.
func handOver(ctx context.Context, way waiting) (sinceCall, sinceReturn time.Duration, err error) {
	release, err := way.take(ctx)
	if err != nil {
		return 0, 0, err
	}
	type outcome struct {
		at      time.Time
		release func(context.Context) error
		err     error
	}
	got := make(chan outcome, 1)
	go func() {
		release, err := way.wait(ctx)
		got <- outcome{time.Now(), release, err}
	}()
	pause := settlePause
	if way.spread > 0 {
		pause += rand.N(way.spread)
	}
	time.Sleep(pause)

	called := time.Now()
	err = release(ctx)
	returned := time.Now()
	next := <-got
	if err := errors.Join(err, next.err); err != nil {
		return 0, 0, err
	}
	if next.at.Before(called) {
		return 0, 0, errors.New("two held it at once")
	}
	return next.at.Sub(called), max(next.at.Sub(returned), 0), next.release(ctx)
}

// waitingWays are ours, and what one would write without it.
func (b *bench) waitingWays(ctx context.Context) (ways []waiting, closeAll func(), err error) {
	holder, closeHolder, err := b.newLocker(lockerName, 2)
	if err != nil {
		return nil, nil, err
	}
	waiter, closeWaiter, err := b.newLocker("relay_bench_waiter", 2)
	if err != nil {
		closeHolder()
		return nil, nil, err
	}
	conns, closeConns, err := b.sessions(ctx, "relay_bench_waiting", 2)
	closeAll = func() {
		closeHolder()
		closeWaiter()
		if closeConns != nil {
			closeConns()
		}
	}
	for _, conn := range conns {
		err = errors.Join(err, prepare(ctx, conn, lockSQL, unlockSQL, blockSQL, unlockNotifySQL))
	}
	if err == nil {
		err = conns[1].Exec(ctx, "listen relay_bench").Close()
	}
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return []waiting{lockersWaiting(holder, waiter), blockedWaiting(conns), notifiedWaiting(conns), polledWaiting(conns)},
		closeAll, nil
}

func lockersWaiting(holder, waiter *postgres.Locker) waiting {
	const job = "handed over"
	side := func(get func(context.Context, string) (relay.Lock, error)) func(context.Context) (func(context.Context) error, error) {
		return func(ctx context.Context) (func(context.Context) error, error) {
			lock, err := get(ctx, job)
			if err != nil {
				return nil, err
			}
			return lock.Release, nil
		}
	}
	return waiting{name: "Acquire of another Locker", goal: 4, take: side(holder.TryAcquire), wait: side(waiter.Acquire)}
}

const (
	blockSQL        = "select true from pg_advisory_lock($1)"
	unlockNotifySQL = "select pg_advisory_unlock($1) from pg_notify('relay_bench', '')"
	waitedKey       = 4_000_000
)

// onSession is a side that takes with one statement and lets go with another.
func onSession(conn *pgconn.PgConn, lock, unlock string, key int) func(context.Context) (func(context.Context) error, error) {
	arg := []byte(strconv.Itoa(key))
	return func(ctx context.Context) (func(context.Context) error, error) {
		release := func(ctx context.Context) error { return expectTrue(ctx, conn, unlock, arg) }
		return release, expectTrue(ctx, conn, lock, arg)
	}
}

func blockedWaiting(conns []*pgconn.PgConn) waiting {
	return waiting{name: "blocked in pg_advisory_lock",
		take: onSession(conns[0], lockSQL, unlockSQL, waitedKey),
		wait: onSession(conns[1], blockSQL, unlockSQL, waitedKey)}
}

// notifiedWaiting tries when it hears of a release. Trying and unlocking are
// statements of their own, so a notification finds the lock free.
func notifiedWaiting(conns []*pgconn.PgConn) waiting {
	try := onSession(conns[1], lockSQL, unlockSQL, waitedKey+1)
	return waiting{name: "LISTEN and NOTIFY at each release",
		take: onSession(conns[0], lockSQL, unlockNotifySQL, waitedKey+1),
		wait: func(ctx context.Context) (func(context.Context) error, error) {
			for {
				release, err := try(ctx)
				if !errors.Is(err, errNotTrue) {
					return release, err
				}
				if err := conns[1].WaitForNotification(ctx); err != nil {
					return nil, err
				}
			}
		}}
}

func polledWaiting(conns []*pgconn.PgConn) waiting {
	try := onSession(conns[1], lockSQL, unlockSQL, waitedKey+2)
	return waiting{name: "polling every " + pollPause.String(), spread: pollPause,
		take: onSession(conns[0], lockSQL, unlockSQL, waitedKey+2),
		wait: func(ctx context.Context) (func(context.Context) error, error) {
			for {
				release, err := try(ctx)
				if !errors.Is(err, errNotTrue) {
					return release, err
				}
				time.Sleep(pollPause)
			}
		}}
}
