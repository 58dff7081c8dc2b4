//go:build unix

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

// A commit that has notified waits for a standby that does not exist, and lets
// no other NOTIFY commit meanwhile.
func (s server) hangNotify(t testing.TB) (letGo func()) {
	t.Helper()
	s.exec(t, "create table if not exists things (id int)")
	conn, err := pgx.Connect(t.Context(), s.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	committed := async(func() error {
		_, err := conn.Exec(t.Context(), `set synchronous_commit = on; begin; insert into things values (1);
			notify relay, 'of somebody else'; commit`)
		return err
	})
	for query[int](t, s.database, "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") == 0 {
		require.NoError(t, t.Context().Err())
	}
	return func() {
		s.exec(t, "select pg_cancel_backend($1)", conn.PgConn().PID()) // it is committed here, and waits no more
		require.NoError(t, <-committed)
	}
}

func TestLock_AReleaseBehindAHangingNotifyCostsTheWakeUpAlone(t *testing.T) {
	db := newServer(t, "synchronous_standby_names=nobody", "synchronous_commit=local")
	limits := postgres.LockerConfig{RequestTimeout: time.Second, RetryInterval: 100 * time.Millisecond}
	holder, waiter := db.locker(t, limits), db.locker(t, limits)
	kept, lock := take(t, holder, "kept"), take(t, holder, "job")
	waiting := async(func() taken {
		lock, err := waiter.Acquire(t.Context(), "job")
		return taken{lock, err}
	})
	db.awaitWaiters(t, "job", 1)
	letGo := db.hangNotify(t)
	released := async(func() error { return lock.Release(t.Context()) })
	beside := async(func() error { // a neighbour of the release
		lock, err := holder.Acquire(t.Context(), "neighbour")
		if err == nil {
			err = lock.Release(t.Context())
		}
		return err
	})
	require.NoError(t, <-released, "the server has freed it, whoever hangs")
	require.NoError(t, <-beside)
	got := <-waiting
	require.NoError(t, got.err, "it asks again in time")
	require.False(t, isLost(kept))
	letGo()
	require.NoError(t, got.lock.Release(t.Context()))
	require.NoError(t, kept.Release(t.Context()))
	require.Zero(t, db.locks(t))
	require.NotErrorIs(t, got.err, relay.ErrLost)
}
