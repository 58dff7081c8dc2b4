package postgres_test

import (
	"context"
	"testing"
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
