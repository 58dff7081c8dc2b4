package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestHolders_TellsWhoHoldsAndHowManyWait(t *testing.T) {
	db := newDatabase(t)
	started := query[time.Time](t, db, "select clock_timestamp()")
	locker := db.locker(t, postgres.LockerConfig{ApplicationName: "billing"})
	lock := take(t, locker, "job")
	take(t, locker, "quiet")
	for _, app := range []string{"a", "b"} {
		waiter := db.locker(t, postgres.LockerConfig{ApplicationName: app})
		for range 2 { // two calls of one process wait as one
			async(func() error {
				_, err := waiter.Acquire(t.Context(), "job")
				return err
			})
		}
	}
	db.awaitWaiters(t, "job", 2)
	tx := db.begin(t, pgx.TxOptions{})
	queued := async(func() error { return postgres.LockTx(t.Context(), tx, "job") })
	db.awaitBlocked(t)

	looker := db.locker(t, postgres.LockerConfig{ApplicationName: "looker"})
	holders, err := looker.Holders(t.Context(), "job", "free", "quiet")
	require.NoError(t, err)
	require.Len(t, holders, 2, "a name that nobody holds is left out")
	job := holders[0]
	require.Equal(t, "job", job.Name)
	require.Equal(t, db.holder(t, "job"), job.PID)
	require.Equal(t, "billing", job.Application)
	require.False(t, job.Since.Before(started) || job.Since.After(query[time.Time](t, db, "select clock_timestamp()")))
	require.Equal(t, 3, job.Waiting, "two Lockers and a transaction")
	require.Equal(t, "quiet", holders[1].Name)
	require.Zero(t, holders[1].Waiting)
	require.Zero(t, query[int](t, db, "select count(*) from pg_stat_activity where application_name = 'looker'"),
		"it looks on a session of its own, and closes it")

	own, err := locker.Holders(t.Context())
	require.NoError(t, err)
	require.Equal(t, holders, own, "without names: what this Locker holds")
	none, err := looker.Holders(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)

	require.NoError(t, lock.Release(t.Context()))
	require.NoError(t, <-queued)
	inTx, err := looker.Holders(t.Context(), "job")
	require.NoError(t, err)
	require.Len(t, inTx, 1, "a transaction's lock is one too")
	require.EqualValues(t, tx.Conn().PgConn().PID(), inTx[0].PID)
}

func TestHolders_AnswersMisuseWithAnErrorAndObeysItsContext(t *testing.T) {
	db := newDatabase(t)
	locker := db.locker(t, postgres.LockerConfig{})
	_, err := locker.Holders(t.Context(), "fine", "")
	require.ErrorIs(t, err, relay.ErrInvalidName)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = locker.Holders(ended, "job")
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, locker.Close(t.Context()))
	_, err = locker.Holders(t.Context(), "job")
	require.ErrorIs(t, err, relay.ErrClosed)
}

func TestHolders_WithoutNamesAsksForWhatIsHeldOrAwaitedAndNotForWhatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		other := newLocker(t, cfg, slow)
		locker := newLocker(t, cfg, slow)
		take(t, other, "awaited")
		take(t, locker, "held")
		given := take(t, locker, "given up")
		ctx, cancel := context.WithCancel(t.Context())
		waiting := async(func() error { _, err := locker.Acquire(ctx, "awaited"); return err })
		synctest.Wait()
		server.onAnswer(func(what string) {
			if what == "unlock" {
				time.Sleep(slow.RequestTimeout + time.Second)
			}
		})
		require.ErrorContains(t, given.Release(t.Context()), "no answer")
		var asked string
		server.onParameters(func(what, parameter string) {
			if strings.Contains(what, "pg_stat_activity") {
				asked = parameter
			}
		})
		holders, err := locker.Holders(t.Context())
		require.NoError(t, err)
		require.Empty(t, holders)
		require.Equal(t, fmt.Sprintf("{%d,%d}", postgres.LockKey("awaited"), postgres.LockKey("held")), asked)
		cancel()
		require.Error(t, <-waiting)
	})
}

func TestHolders_IsBoundedByRequestTimeoutAndEndsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		server.onAnswer(func(what string) {
			if strings.Contains(what, "pg_stat_activity") {
				time.Sleep(time.Hour)
			}
		})
		began := time.Now()
		_, err := locker.Holders(t.Context(), "job")
		require.Error(t, err)
		require.LessOrEqual(t, time.Since(began), slow.RequestTimeout+time.Second)
		asking := async(func() error { _, err := locker.Holders(t.Context(), "job"); return err })
		synctest.Wait()
		require.NoError(t, locker.Close(t.Context()))
		began = time.Now()
		require.ErrorIs(t, <-asking, relay.ErrClosed)
		require.LessOrEqual(t, time.Since(began), time.Second)
	})
}

// What looks like a lock of a name, and is none.
func TestHolders_CountsNoLockOfAnotherKindOrAnotherDatabase(t *testing.T) {
	db, other := newDatabase(t), newDatabase(t)
	locker := db.locker(t, postgres.LockerConfig{})
	key, waiters := postgres.LockKey("job"), waitKey("job")
	tx, second, elsewhere := db.begin(t, pgx.TxOptions{}), db.begin(t, pgx.TxOptions{}), other.begin(t, pgx.TxOptions{})
	do := func(tx pgx.Tx, sql string, args ...any) {
		t.Helper()
		_, err := tx.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	do(elsewhere, "select pg_advisory_xact_lock($1), pg_advisory_xact_lock_shared($2)", key, waiters)
	do(tx, "select pg_advisory_xact_lock(($1::int8 >> 32)::int4, ($1::int8 << 32 >> 32)::int4)", key)
	holders, err := locker.Holders(t.Context(), "job")
	require.NoError(t, err)
	require.Empty(t, holders, "a lock of another database, and one by two int4")

	do(tx, "select pg_advisory_xact_lock_shared($1)", key)
	holders, err = locker.Holders(t.Context(), "job")
	require.NoError(t, err)
	require.Empty(t, holders, "a shared lock")
	require.NoError(t, tx.Rollback(t.Context()))

	take(t, locker, "job")
	do(second, "select pg_advisory_xact_lock($1)", waiters) // as a release does
	holders, err = locker.Holders(t.Context(), "job")
	require.NoError(t, err)
	require.Len(t, holders, 1)
	require.Zero(t, holders[0].Waiting)
}
