package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/relay-samples/relay-go/relay"
)

const (
	lockAllSQL   = "select pg_try_advisory_lock(k) from unnest($1::int8[]) k"
	unlockAllSQL = "select pg_advisory_unlock(k) from unnest($1::int8[]) k"

	heldLockers = 3 // fresh ones, since memory that a session has used is not given back
)

// held is what the rounds of goal 3 gave.
type held struct {
	times, floors []time.Duration
	memory        []float64 // from before the Locker had a session
	connections   int
	memoryErr     error
}

func measureHeld(ctx context.Context, b *bench) error {
	var h held
	for range heldLockers {
		if err := b.holdMany(ctx, &h); err != nil {
			return err
		}
	}
	alone, aloneErr := b.dedicatedMemory(ctx)
	if aloneErr != nil && !errors.Is(aloneErr, errElsewhere) {
		return aloneErr
	}

	what := fmt.Sprintf("%d locks", b.many)
	took, floor := medianTime(h.times), medianTime(h.floors)
	b.add(line{goal: 3, what: what + " taken at once", value: millis(took), base: "one statement", floor: millis(floor),
		rounds: []float64{float64(took) / float64(floor)}, bound: valueAtMost(10, " ms")})
	l := line{goal: 3, what: what + " held, server memory", value: megabytes(median(h.memory)),
		base: "dedicated sessions", floor: megabytes(alone), rounds: []float64{median(h.memory) / alone}, bound: valueAtMost(5, " MB")}
	if err := errors.Join(h.memoryErr, aloneErr); err != nil {
		l.skip = err.Error()
	}
	b.add(l)
	b.add(line{goal: 3, what: what + " held, connections", value: count(float64(h.connections)), bound: valueAtMost(2, "")})
	return nil
}

// holdMany takes and releases the locks in a few rounds, on a fresh Locker.
func (b *bench) holdMany(ctx context.Context, h *held) error {
	statement, closeStatement, err := b.newStatementFloor(ctx)
	if err != nil {
		return err
	}
	defer closeStatement()
	before, beforeErr := b.memory()

	locker, closeLocker, err := b.newLocker(lockerName, b.many+1)
	if err != nil {
		return err
	}
	defer closeLocker()
	jobs := names("held", b.many)
	warm, err := locker.TryAcquire(ctx, "warm")
	if err != nil {
		return err
	}
	if err := warm.Release(ctx); err != nil {
		return err
	}
	locks := make([]relay.Lock, b.many)
	for round := range max(1, b.rounds/heldLockers) {
		took, err := together(ctx, b.many, func(ctx context.Context, i int) (err error) {
			locks[i], err = locker.TryAcquire(ctx, jobs[i])
			return err
		})
		if err != nil {
			return err
		}
		h.times = append(h.times, took)
		if round == 0 {
			after, afterErr := b.memory()
			h.memory = append(h.memory, after-before)
			h.memoryErr = errors.Join(beforeErr, afterErr)
			if err := b.countHeld(ctx, h); err != nil {
				return err
			}
		}
		if _, err := together(ctx, b.many, func(ctx context.Context, i int) error { return locks[i].Release(ctx) }); err != nil {
			return err
		}
		floor, err := statement(ctx)
		if err != nil {
			return err
		}
		h.floors = append(h.floors, floor)
	}
	return nil
}

// countHeld asks the server whether it has what we believe to hold.
func (b *bench) countHeld(ctx context.Context, h *held) error {
	pids, err := b.pids(ctx, lockerName)
	if err != nil {
		return err
	}
	h.connections = len(pids)
	var locks int
	err = b.admin.QueryRow(ctx, "select count(*) from pg_locks where locktype = 'advisory' and granted and pid = any($1)",
		pids).Scan(&locks)
	if err == nil && locks != b.many {
		err = fmt.Errorf("the server has %d locks, not %d", locks, b.many)
	}
	return err
}

func (b *bench) memory() (float64, error) { return serverMemory(int(b.admin.PgConn().PID())) }

// newStatementFloor takes as many locks in one statement, on a session that has
// done it before.
func (b *bench) newStatementFloor(ctx context.Context) (func(context.Context) (time.Duration, error), func(), error) {
	conn, closeConn, err := b.session(ctx, "relay_bench_statement")
	if err != nil {
		return nil, nil, err
	}
	keys := make([]string, b.many)
	for i := range keys {
		keys[i] = strconv.Itoa(2_000_000 + i)
	}
	array := []byte("{" + strings.Join(keys, ",") + "}")
	floor := func(ctx context.Context) (time.Duration, error) {
		begun := time.Now()
		err := expectTrue(ctx, conn, lockAllSQL, array)
		took := time.Since(begun)
		return took, errors.Join(err, expectTrue(ctx, conn, unlockAllSQL, array))
	}
	if err = prepare(ctx, conn, lockAllSQL, unlockAllSQL); err == nil {
		_, err = floor(ctx)
	}
	if err != nil {
		closeConn()
		return nil, nil, err
	}
	return floor, closeConn, nil
}

// dedicatedMemory is what as many sessions with a lock each would use, reckoned
// from as many as the server takes.
func (b *bench) dedicatedMemory(ctx context.Context) (float64, error) {
	n, err := b.room(ctx, b.crowd)
	if err != nil {
		return 0, err
	}
	before, err := b.memory()
	if err != nil {
		return 0, err
	}
	conns, closeAll, err := b.sessions(ctx, dedicatedName, n)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	var group sync.WaitGroup
	errs := make([]error, n)
	for i, conn := range conns {
		group.Go(func() { errs[i] = lockOnce(ctx, conn, 3_000_000+i) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	after, err := b.memory()
	return (after - before) / float64(n) * float64(b.many), err
}

func lockOnce(ctx context.Context, conn *pgconn.PgConn, key int) error {
	if err := prepare(ctx, conn, lockSQL); err != nil {
		return err
	}
	return expectTrue(ctx, conn, lockSQL, []byte(strconv.Itoa(key)))
}
