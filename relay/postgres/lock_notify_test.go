//go:build unix

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

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
	limits := postgres.LockerConfig{RequestTimeout: 2 * time.Second, RetryInterval: 100 * time.Millisecond}
	holder, waiter := db.locker(t, limits), db.locker(t, limits)
	kept, lock := take(t, holder, "kept"), take(t, holder, "job")
	others := takeMany(t, holder, 5)
	for _, lock := range others {
		async(func() error {
			lock, err := waiter.Acquire(t.Context(), lock.Name())
			if err == nil {
				err = lock.Release(t.Context())
			}
			return err
		})
		db.awaitWaiters(t, lock.Name(), 1)
	}
	waiting := async(func() taken {
		lock, err := waiter.Acquire(t.Context(), "job")
		return taken{lock, err}
	})
	db.awaitWaiters(t, "job", 1)
	letGo := db.hangNotify(t)
	released := async(func() error { return lock.Release(t.Context()) })
	var more []<-chan error
	for _, lock := range others { // each of them may come to hang behind the first
		more = append(more, async(func() error { return lock.Release(t.Context()) }))
		db.sleep(t, 5*time.Millisecond)
	}
	beside := async(func() error { // a neighbour of the release
		lock, err := holder.Acquire(t.Context(), "neighbour")
		if err == nil {
			err = lock.Release(t.Context())
		}
		return err
	})
	require.NoError(t, <-released, "the server has freed it, whoever hangs")
	for _, released := range more {
		require.NoError(t, <-released)
	}
	require.NoError(t, <-beside)
	got := <-waiting
	require.NoError(t, got.err, "it asks again in time")
	require.False(t, isLost(kept))
	letGo()
	require.NoError(t, got.lock.Release(t.Context()))
	require.NoError(t, kept.Release(t.Context()))
	for db.locks(t) > 0 { // the waiters have their turns
		require.NoError(t, t.Context().Err())
	}
}
