package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// The floor of a lock: two statements.
const (
	lockSQL   = "select pg_try_advisory_lock($1)"
	unlockSQL = "select pg_advisory_unlock($1)"

	dedicatedName = "relay_bench_dedicated"
)

// lockFloor is what locks of some number of callers are compared with.
type lockFloor struct {
	base     string    // its name in the table
	subjects []subject // run in turns with what is measured: dedicated sessions, perhaps pgbench
	factor   float64   // of the dedicated sessions to pgbench, when that does not run in turns
	close    func()
}

// lockFloor opens the dedicated sessions, and sees how they compare with
// pgbench. How long two processes take to wake each other up changes within
// seconds, so with one caller pgbench has to run in turns. Many callers keep
// the cores awake, but their sessions are slow to start.
func (b *bench) lockFloor(ctx context.Context, callers int) (f lockFloor, err error) {
	f = lockFloor{base: "dedicated sessions", factor: 1}
	if b.pgbench != "" {
		f.base = "pgbench"
		if err := b.checkPgbench(ctx, callers); err != nil {
			return f, err
		}
	}
	if b.pgbench != "" && callers > 1 {
		if f.factor, err = b.overPgbench(ctx, callers); err != nil {
			return f, err
		}
	}
	dedicated, closeAll, err := b.dedicatedFloor(ctx, callers)
	f.subjects, f.close = []subject{dedicated}, closeAll
	if b.pgbench != "" && callers == 1 {
		f.subjects = append(f.subjects, b.pgbenchInTurns())
	}
	return f, err
}

// line compares with the floor, whose part of the rounds is floors.
func (f lockFloor) line(goal int, what string, candidate series, floors []series, bound bound) line {
	floor := floors[len(floors)-1]
	ratios := candidate.over(floor)
	for i := range ratios {
		ratios[i] *= f.factor
	}
	return line{goal: goal, what: what, value: perSecond(candidate.rate()), base: f.base,
		floor: perSecond(floor.rate() / f.factor), rounds: ratios, bound: bound}
}

// overPgbench is the rate of the dedicated sessions over that of pgbench. Both
// open their sessions anew in each round: there is not always room for all.
func (b *bench) overPgbench(ctx context.Context, callers int) (float64, error) {
	if known, ok := b.factors[callers]; ok {
		return known, nil
	}
	var ratios []float64
	for range max(3, b.rounds/3) {
		dedicated, err := b.dedicatedOnce(ctx, callers)
		if err != nil {
			return 0, err
		}
		pgbench, err := b.pgbenchOnce(ctx, callers)
		if err != nil {
			return 0, err
		}
		ratios = append(ratios, dedicated/pgbench)
	}
	b.factors[callers] = median(ratios)
	return b.factors[callers], nil
}

// dedicatedOnce is the rate in a second.
func (b *bench) dedicatedOnce(ctx context.Context, callers int) (float64, error) {
	floor, closeFloor, err := b.dedicatedFloor(ctx, callers)
	if err != nil {
		return 0, err
	}
	var got sample
	if _, err = floor.run(ctx, b.slice); err == nil {
		got, err = floor.run(ctx, time.Second)
	}
	closeFloor()
	return got.rate(), errors.Join(err, b.awaitGone(ctx, dedicatedName))
}

// dedicatedFloor is a loop over pgconn, with a session and a key for each caller.
func (b *bench) dedicatedFloor(ctx context.Context, callers int) (subject, func(), error) {
	conns, closeAll, err := b.sessions(ctx, dedicatedName, callers)
	if err != nil {
		return subject{}, nil, err
	}
	keys := make([][]byte, callers)
	for i, conn := range conns {
		keys[i] = []byte(strconv.Itoa(1_000_000 + i)) // pgbench has the lower ones
		if err := prepare(ctx, conn, lockSQL, unlockSQL); err != nil {
			closeAll()
			return subject{}, nil, err
		}
	}
	floor := repeat("dedicated sessions", callers, func(_ context.Context, caller int) error {
		// Not the run's context: watching one has a cost, and this is the floor.
		if err := expectTrue(context.Background(), conns[caller], lockSQL, keys[caller]); err != nil {
			return err
		}
		return expectTrue(context.Background(), conns[caller], unlockSQL, keys[caller])
	})
	pids := func() (ids []int, err error) {
		for _, conn := range conns {
			ids = append(ids, int(conn.PID()))
		}
		return ids, nil
	}
	return metered(floor, pids), closeAll, nil
}

// prepare prepares statements under their own text.
func prepare(ctx context.Context, conn *pgconn.PgConn, statements ...string) error {
	for _, sql := range statements {
		if _, err := conn.Prepare(ctx, sql, sql, nil); err != nil {
			return err
		}
	}
	return nil
}

var errNotTrue = errors.New("the server did not answer true")

// expectTrue runs a prepared statement that has to return true, or 1, in every
// row.
func expectTrue(ctx context.Context, conn *pgconn.PgConn, name string, args ...[]byte) error {
	result := conn.ExecPrepared(ctx, name, args, nil, nil).Read()
	if result.Err != nil {
		return result.Err
	}
	if len(result.Rows) == 0 {
		return errNotTrue
	}
	for _, row := range result.Rows {
		if answer := string(row[0]); answer != "t" && answer != "1" {
			return errNotTrue
		}
	}
	return nil
}
