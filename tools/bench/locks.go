package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/relay/postgres"
)

const lockerName = "relay_bench_locker"

// newLocker makes a Locker with room for n names.
func (b *bench) newLocker(name string, n int) (*postgres.Locker, func(), error) {
	locker, err := postgres.NewLocker(b.named(name), postgres.LockerConfig{MaxHeld: n})
	if err != nil {
		return nil, nil, err
	}
	return locker, func() { _ = locker.Close(context.Background()) }, nil
}

// takeAndRelease is what goals 1 and 2 count as one operation.
func takeAndRelease(locker *postgres.Locker, names []string) operation {
	return func(ctx context.Context, caller int) error {
		lock, err := locker.TryAcquire(ctx, names[caller])
		if err != nil {
			return err
		}
		return lock.Release(ctx)
	}
}

func measureLocks(ctx context.Context, b *bench) error {
	for _, goal := range []struct {
		number, callers int
		least           float64
	}{{1, 1, 0.80}, {2, 16, 2.0}, {2, b.crowd, 5}} {
		if !b.wants(goal.number) {
			continue
		}
		callers, err := b.room(ctx, goal.callers)
		if err == nil {
			err = b.lockRates(ctx, goal.number, callers, goal.least)
		}
		if err != nil {
			return fmt.Errorf("%d callers: %w", goal.callers, err)
		}
	}
	if b.wants(1) {
		return b.lockAllocations(ctx)
	}
	return nil
}

// lockRates compares one Locker with a session for each caller.
func (b *bench) lockRates(ctx context.Context, goal, callers int, least float64) error {
	floor, err := b.lockFloor(ctx, callers)
	if err != nil {
		return err
	}
	defer floor.close()
	locker, closeLocker, err := b.newLocker(lockerName, callers+1)
	if err != nil {
		return err
	}
	defer closeLocker()
	candidate := repeat("Locker", callers, takeAndRelease(locker, names("job", callers)))
	pids := func() ([]int, error) { return b.pids(ctx, lockerName) }
	got, err := compare(ctx, b.options, append([]subject{metered(candidate, pids)}, floor.subjects...)...)
	if err != nil {
		return err
	}

	who := plural(callers, "caller")
	b.add(floor.line(goal, "lock and unlock, "+who, got[0], got[1:], atLeast(least)))
	if b.pgbench != "" {
		b.add(floor.line(0, "dedicated sessions in Go, "+who, got[1], got[1:], bound{}))
	}
	if goal != 2 {
		return nil
	}
	b.add(cpuLine("server CPU per lock and unlock, "+who, got[0], got[1]))
	return b.lockConnections(ctx, candidate, who)
}

func cpuLine(what string, candidate, dedicated series) line {
	l := line{goal: 2, what: what, bound: atMost(0.25), base: "dedicated sessions",
		value: micros(candidate.cpuPerOp()), floor: micros(dedicated.cpuPerOp())}
	l.rounds = []float64{l.value.value / l.floor.value}
	switch {
	case l.floor.value == 0:
		l.skip = errElsewhere.Error()
	case l.value.value == 0:
		l.skip = "the sessions did not stay the same"
	}
	return l
}

// lockConnections counts the sessions while the callers are at it.
func (b *bench) lockConnections(ctx context.Context, candidate subject, who string) error {
	ended := make(chan error, 1)
	go func() {
		_, err := candidate.run(ctx, b.slice)
		ended <- err
	}()
	time.Sleep(b.slice / 2)
	pids, err := b.pids(ctx, lockerName)
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	b.add(line{goal: 2, what: "connections, " + who, value: count(float64(len(pids))), bound: valueAtMost(1, "")})
	return nil
}

func (b *bench) lockAllocations(ctx context.Context) error {
	locker, closeLocker, err := b.newLocker(lockerName, 1)
	if err != nil {
		return err
	}
	defer closeLocker()
	op := takeAndRelease(locker, names("job", 1))
	var failed onceError
	allocations := testing.AllocsPerRun(100*b.rounds, func() {
		if err := op(ctx, 0); err != nil {
			failed.set(err)
		}
	})
	b.add(line{goal: 1, what: "allocations of a lock and unlock", value: count(allocations),
		bound: valueAtMost(2, ""), err: failed.get()})
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
