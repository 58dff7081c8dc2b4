package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/relay-samples/relay-go/relay/postgres"
)

// measureRelease tells what a release costs that nobody waits for: at the server,
// statement against statement, and as a call.
func measureRelease(ctx context.Context, b *bench) error {
	if err := b.releaseStatements(ctx); err != nil {
		return err
	}
	return b.releaseCalls(ctx)
}

// releaseStatements compares the statement that a Locker sends with a plain one.
func (b *bench) releaseStatements(ctx context.Context) error {
	release, err := b.releaseSQL(ctx)
	if err != nil {
		return err
	}
	// One session for both: two would have two places on the machine.
	conn, closeConn, err := b.session(ctx, "relay_bench_release")
	if err != nil {
		return err
	}
	defer closeConn()
	if err := prepare(ctx, conn, lockSQL, unlockSQL); err != nil {
		return err
	}
	if _, err := conn.Prepare(ctx, release, release, []uint32{pgtype.Int8OID}); err != nil {
		return err
	}
	key := []byte(strconv.Itoa(5_000_000))
	pair := func(name, release string) subject {
		return repeat(name, 1, func(context.Context, int) error {
			if err := expectTrue(context.Background(), conn, lockSQL, key); err != nil {
				return err
			}
			return expectTrue(context.Background(), conn, release, key)
		})
	}
	got, err := compare(ctx, b.options, pair("a Locker's release", release), pair("plain release", unlockSQL))
	if err != nil {
		return err
	}
	b.add(line{goal: 4, what: "lock and release that nobody waits for, as statements", value: perSecond(got[0].rate()),
		base: "plain unlock", floor: perSecond(got[1].rate()), rounds: got[0].over(got[1]), bound: atLeast(0.95)})
	return nil
}

// preparePrefix is what a statement begins with that was prepared in SQL.
var preparePrefix = regexp.MustCompile(`(?is)^\s*prepare\s.*?\)\s*as\s+`)

// releaseSQL is the statement of a Locker's release. The server is asked what it
// was: a copy of it here would grow old.
func (b *bench) releaseSQL(ctx context.Context) (string, error) {
	locker, closeLocker, err := b.newLocker(lockerName, 1)
	if err != nil {
		return "", err
	}
	defer closeLocker()
	if err := takeAndRelease(locker, names("released", 1))(ctx, 0); err != nil {
		return "", err
	}
	var query string
	err = b.admin.QueryRow(ctx, "select query from pg_stat_activity where datname = current_database() and application_name = $1",
		lockerName).Scan(&query)
	if err != nil {
		return "", fmt.Errorf("the session that released a lock: %w", err)
	}
	query = preparePrefix.ReplaceAllString(query, "")
	if !strings.Contains(query, "pg_advisory_unlock") {
		return "", fmt.Errorf("%q is no release", query)
	}
	return query, nil
}

// releaseCalls times the releases alone, though each has a lock before it.
func (b *bench) releaseCalls(ctx context.Context) error {
	locker, closeLocker, err := b.newLocker(lockerName, 1)
	if err != nil {
		return err
	}
	defer closeLocker()
	conn, closeConn, err := b.session(ctx, "relay_bench_release")
	if err != nil {
		return err
	}
	defer closeConn()
	if err := prepare(ctx, conn, lockSQL, unlockSQL); err != nil {
		return err
	}
	key := []byte(strconv.Itoa(5_000_003))
	got, err := compare(ctx, b.options,
		timedRelease("Release", func(ctx context.Context) (func(context.Context) error, error) {
			lock, err := locker.TryAcquire(ctx, "released")
			if err != nil {
				return nil, err
			}
			return lock.Release, nil
		}),
		timedRelease("plain unlock", func(ctx context.Context) (func(context.Context) error, error) {
			release := func(ctx context.Context) error { return expectTrue(ctx, conn, unlockSQL, key) }
			return release, expectTrue(ctx, conn, lockSQL, key)
		}))
	if err != nil {
		return err
	}
	b.add(line{what: "Release of a Locker, as a call", value: perSecond(got[0].rate()),
		base: "plain unlock", floor: perSecond(got[1].rate()), rounds: got[0].over(got[1])})
	return nil
}

// timedRelease counts the time of the releases only.
func timedRelease(name string, take func(context.Context) (func(context.Context) error, error)) subject {
	return subject{name: name, run: func(ctx context.Context, d time.Duration) (got sample, err error) {
		for begun := time.Now(); time.Since(begun) < d; got.ops++ {
			release, err := take(ctx)
			if err != nil {
				return got, err
			}
			from := time.Now()
			err = release(ctx)
			got.took += time.Since(from)
			if err != nil {
				return got, err
			}
		}
		return got, nil
	}}
}

// measureLoss tells how long a holder goes on believing when its session is
// terminated, counted from the call, which is a little more than from its
// return.
func measureLoss(ctx context.Context, b *bench) error {
	var took []time.Duration
	for range b.rounds {
		one, err := b.loseOnce(ctx)
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	b.add(line{goal: 4, what: "terminated session seen by the holder", value: millis(medianTime(took)),
		bound: valueAtMost(10, " ms")})
	return nil
}

func (b *bench) loseOnce(ctx context.Context) (time.Duration, error) {
	const name = "relay_bench_lost"
	locker, err := postgres.NewLocker(b.named(name), postgres.LockerConfig{})
	if err != nil {
		return 0, err
	}
	defer func() { _ = locker.Close(context.Background()) }()
	lock, err := locker.TryAcquire(ctx, "lost")
	if err != nil {
		return 0, err
	}
	time.Sleep(settlePause) // a session that was just used is not looked at yet
	pids, err := b.pids(ctx, name)
	if err != nil {
		return 0, err
	}
	if len(pids) == 0 {
		return 0, errors.New("the session of a held lock is not there")
	}
	begun := time.Now()
	if _, err := b.admin.Exec(ctx, "select pg_terminate_backend(pid) from unnest($1::int[]) pid", pids); err != nil {
		return 0, err
	}
	select {
	case <-lock.Lost():
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(time.Minute):
		return 0, fmt.Errorf("the loss of session %v is not told", pids)
	}
	took := time.Since(begun)
	return took, b.awaitGone(ctx, name)
}
