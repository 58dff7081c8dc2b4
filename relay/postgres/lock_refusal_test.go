package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// faulty returns a config whose sessions find functions of the test's own before
// the server's. Each body may call the real one as pg_catalog's.
func (d *database) faulty(t testing.TB, functions map[string]string) *pgxpool.Config {
	t.Helper()
	d.exec(t, "create schema faulty")
	d.exec(t, "create table faulty.refuse (key int8, times int)") // one row
	d.exec(t, "create sequence faulty.seen")
	for name, body := range functions {
		d.exec(t, fmt.Sprintf(`create function faulty.%s(k int8) returns bool language plpgsql as $$
			begin %s end $$`, name, body))
	}
	cfg := d.config(t)
	cfg.ConnConfig.RuntimeParams["search_path"] = "faulty, pg_catalog"
	return cfg
}

// refusing is a function's body that does its work, and then refuses one key for
// some times, which a sequence counts, since that survives the refusal.
func refusing(work string) string {
	return work + `
		if (select case when r.key = k then nextval('faulty.seen') <= r.times end from faulty.refuse r) then
			raise exception 'refused';
		end if;
		return found_it;`
}

// refuse has the faulty function refuse a name, the next times.
func (d *database) refuse(t testing.TB, name string, times int) {
	t.Helper()
	d.exec(t, "alter sequence faulty.seen restart")
	d.exec(t, "delete from faulty.refuse")
	d.exec(t, "insert into faulty.refuse values ($1, $2)", postgres.LockKey(name), times)
}

// withFound declares what refusing returns.
func withFound(call string) string {
	return "declare found_it bool; begin found_it := pg_catalog." + call + "(k);" + refusing("") + " end;"
}

// A session lock outlives the statement that took it.
func TestLocker_AGrantWhoseStatementWasRefusedIsNotForgotten(t *testing.T) {
	db := newDatabase(t)
	locker := newLocker(t, db.faulty(t, map[string]string{
		"pg_try_advisory_lock": withFound("pg_try_advisory_lock"),
	}), postgres.LockerConfig{})
	db.refuse(t, "job", 1)
	lock := take(t, locker, "job") // the server has it, whatever it said
	require.NotZero(t, db.holder(t, "job"))
	require.NoError(t, lock.Release(t.Context()))
	require.Zero(t, db.locks(t))

	db.refuse(t, "job", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := locker.TryAcquire(ctx, "job")
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, db.locks(t))
}

// A batch fails half-way: some of its grants stay, the rest was never asked.
func TestLocker_ABatchThatIsRefusedHalfWayIsAnsweredOneByOne(t *testing.T) {
	db := newDatabase(t)
	locker := newLocker(t, db.faulty(t, map[string]string{
		"pg_try_advisory_lock": withFound("pg_try_advisory_lock"),
	}), postgres.LockerConfig{})
	kept := take(t, locker, "kept")
	db.refuse(t, "many/20", 1000) // whenever it is asked for
	blocked := take(t, db.locker(t, postgres.LockerConfig{}), "many/7")
	locks := make([]relay.Lock, 40)
	errs := make([]error, len(locks))
	var callers sync.WaitGroup
	for i := range locks {
		callers.Go(func() { locks[i], errs[i] = locker.TryAcquire(t.Context(), fmt.Sprintf("many/%d", i)) })
	}
	callers.Wait()
	for i, err := range errs {
		if i == 7 {
			require.ErrorIs(t, err, relay.ErrNotAcquired, "it is held elsewhere")
			continue
		}
		require.NoError(t, err, "lock %d is free", i)
		require.NotZero(t, db.holder(t, locks[i].Name()))
	}
	require.Equal(t, len(locks)+1, db.locks(t), "one of them elsewhere, and the one that was held before")
	for i, lock := range locks {
		if i != 7 {
			require.NoError(t, lock.Release(t.Context()))
		}
	}
	require.False(t, isLost(kept))
	require.NoError(t, kept.Release(t.Context()))
	require.NoError(t, blocked.Release(t.Context()))
	require.Zero(t, db.locks(t))
}

// The server refuses before it does anything, and goes on refusing.
func TestLocker_ATryThatTheServerRefusesToAnswerIsAnErrorAndHoldsNothing(t *testing.T) {
	db := newDatabase(t)
	locker := newLocker(t, db.faulty(t, map[string]string{
		"pg_try_advisory_lock": `if k = ` + fmt.Sprint(postgres.LockKey("bad")) + ` then raise exception 'no'; end if;
			return pg_catalog.pg_try_advisory_lock(k);`,
	}), postgres.LockerConfig{})
	kept := take(t, locker, "kept")
	for what, call := range map[string]func(*postgres.Locker, context.Context, string) (relay.Lock, error){
		"TryAcquire": (*postgres.Locker).TryAcquire, "Acquire": (*postgres.Locker).Acquire,
	} {
		_, err := call(locker, t.Context(), "bad")
		var refusal *pgconn.PgError
		require.ErrorAs(t, err, &refusal, what)
		require.Equal(t, "no", refusal.Message)
		require.NotErrorIs(t, err, relay.ErrNotAcquired)
	}
	require.NoError(t, take(t, locker, "good").Release(t.Context()))
	require.Equal(t, 1, db.locks(t))
	require.False(t, isLost(kept))
}

// What can't be unlocked now has to be unlocked some day: nobody else will.
func TestLock_AnUnlockThatIsRefusedAgainAndAgainIsDoneInTheEnd(t *testing.T) {
	db := newDatabase(t)
	refuse := refusing("") // before it is done
	cfg := db.faulty(t, map[string]string{
		"pg_advisory_unlock": "declare found_it bool; begin " + refuse[:len(refuse)-len("return found_it;")] +
			" return pg_catalog.pg_advisory_unlock(k); end;",
	})
	failed := make(chan relay.Event, 10)
	locker := newLocker(t, cfg, postgres.LockerConfig{TTL: 3 * time.Second, Observer: func(e relay.Event) { failed <- e }})
	kept := take(t, locker, "kept")

	db.refuse(t, "job", 2)
	require.NoError(t, take(t, locker, "job").Release(t.Context()), "asked again at once")
	require.Equal(t, relay.EventReleased, (<-failed).Kind)

	db.refuse(t, "job", 8)
	lock := take(t, locker, "job")
	err := lock.Release(t.Context())
	var refusal *pgconn.PgError
	require.ErrorAs(t, err, &refusal)
	require.NotErrorIs(t, err, relay.ErrLost)
	require.Equal(t, relay.EventFailed, (<-failed).Kind)
	_, err = locker.TryAcquire(t.Context(), "job")
	require.ErrorIs(t, err, relay.ErrNotAcquired, "it is not free yet")
	next, err := locker.Acquire(t.Context(), "job") // the keeper goes on asking
	require.NoError(t, err)
	require.NoError(t, next.Release(t.Context()))
	require.NoError(t, kept.Release(t.Context()))
	require.Zero(t, db.locks(t))
	require.False(t, errors.Is(err, relay.ErrLost))
}
