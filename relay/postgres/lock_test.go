package postgres_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestLock_ATerminatedSessionTellsItsHolder(t *testing.T) {
	db := newDatabase(t)
	events := make(chan relay.Event, 10)
	locker := db.locker(t, postgres.LockerConfig{Observer: func(e relay.Event) { events <- e }})
	lock := take(t, locker, "job")

	began := time.Now()
	db.terminate(t, db.holder(t, "job"))
	<-lock.Lost()
	t.Logf("told %v after the termination was asked for", time.Since(began))

	event := <-events
	require.Equal(t, relay.EventLost, event.Kind)
	require.Equal(t, "job", event.Name)
	require.ErrorIs(t, event.Err, relay.ErrLost)

	err := lock.Release(t.Context())
	require.ErrorIs(t, err, relay.ErrLost, "the holder was not alone to the end")
	var cause *pgconn.PgError
	require.ErrorAs(t, err, &cause, "the server said why")
	require.Equal(t, "57P01", cause.Code)
	require.Equal(t, err, lock.Release(t.Context()), "a second Release returns what the first did")
	require.Empty(t, events, "a loss is told once")
}

func TestLock_AnObserverMayReleaseTheLockThatWasLostAndCloseTheLocker(t *testing.T) {
	db := newDatabase(t)
	var lock, locker atomic.Value
	answers := make(chan error, 2)
	locker.Store(db.locker(t, postgres.LockerConfig{Observer: func(e relay.Event) {
		if e.Kind == relay.EventLost {
			answers <- lock.Load().(relay.Lock).Release(context.Background())
			answers <- locker.Load().(*postgres.Locker).Close(context.Background())
		}
	}}))
	lock.Store(take(t, locker.Load().(*postgres.Locker), "job"))
	db.terminate(t, db.holder(t, "job"))
	require.ErrorIs(t, <-answers, relay.ErrLost)
	require.NoError(t, <-answers)
}

func TestLock_NothingIsLeftAfterRelease(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	locker := db.locker(t, postgres.LockerConfig{TTL: 3 * time.Second})
	lock := take(t, locker, "job")
	require.NotZero(t, db.holder(t, "job"))
	require.NoError(t, lock.Release(t.Context()))
	require.Zero(t, db.locks(t), "no lock is left")
	other := take(t, db.locker(t, postgres.LockerConfig{ApplicationName: "other"}), "job")
	_, err := locker.TryAcquire(t.Context(), "job")
	require.ErrorIs(t, err, relay.ErrNotAcquired)
	require.NoError(t, other.Release(t.Context()))

	db.awaitSessions(t, 0) // one that nobody has used for TTL/3 is closed
	take(t, locker, "job") // and made again
	require.Equal(t, 1, db.sessions(t))
}

func TestLock_ASessionThatNoLongerHoldsItIsALoss(t *testing.T) {
	db := newDatabase(t)
	// A session of its own is told that it does not hold what it wants to unlock.
	db.exec(t, "create function public.pg_advisory_unlock(bigint) returns bool language sql as 'select false'")
	cfg := db.config(t)
	cfg.ConnConfig.RuntimeParams["search_path"] = "public, pg_catalog"
	lock := take(t, newLocker(t, cfg, postgres.LockerConfig{}), "job")
	require.ErrorIs(t, lock.Release(t.Context()), relay.ErrLost, "the result of the unlock counts")
	<-lock.Lost()
}

func TestLocker_NoGoroutineOutlivesClose(t *testing.T) {
	db := newDatabase(t)
	holder := db.locker(t, postgres.LockerConfig{})
	take(t, holder, "held elsewhere")
	locker, err := postgres.NewLocker(db.config(t), postgres.LockerConfig{})
	require.NoError(t, err)
	take(t, locker, "job")
	waiting := async(func() error {
		_, err := locker.Acquire(t.Context(), "held elsewhere")
		return err
	})
	db.awaitWaiters(t, "held elsewhere", 1)
	require.NoError(t, locker.Close(t.Context()))
	require.ErrorIs(t, <-waiting, relay.ErrClosed)
	require.NoError(t, holder.Close(t.Context()))
	require.Zero(t, db.sessions(t))
	require.Zero(t, db.locks(t))
	awaitNoGoroutines(t)
}

// awaitNoGoroutines returns when no goroutine runs code of the package.
func awaitNoGoroutines(t testing.TB) {
	t.Helper()
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !strings.Contains(string(stacks), "relay/postgres.(") {
			return
		}
		require.NoError(t, t.Context().Err(), "%s", stacks)
		runtime.Gosched()
	}
}

func TestLock_TheUsersPoolIsNotTouched(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	only, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer only.Release()

	locker := newLocker(t, cfg, postgres.LockerConfig{})
	for _, name := range []string{"a", "b", "c"} {
		take(t, locker, name) // an exhausted pool costs no lock
	}
}

func TestLocker_TheErrorAtTheCapNamesIt(t *testing.T) {
	db := newDatabase(t)
	locker := db.locker(t, postgres.LockerConfig{MaxHeld: 2})
	first := take(t, locker, "a")
	take(t, locker, "b")

	_, err := locker.TryAcquire(t.Context(), "c")
	require.ErrorIs(t, err, postgres.ErrTooMany)
	require.ErrorContains(t, err, "MaxHeld = 2")
	require.NotErrorIs(t, err, relay.ErrNotAcquired, "nobody said that it is held")
	_, err = locker.Acquire(t.Context(), "c")
	require.ErrorIs(t, err, postgres.ErrTooMany)
	_, err = locker.TryAcquire(t.Context(), "a")
	require.ErrorIs(t, err, relay.ErrNotAcquired, "a held name needs no session to be refused")

	require.NoError(t, first.Release(t.Context()))
	take(t, locker, "c")
}

func TestLocker_WaitersOfOneNameTakeTurnsOnOneSession(t *testing.T) {
	db := newDatabase(t)
	holder := db.locker(t, postgres.LockerConfig{})
	lock := take(t, holder, "job")
	locker := db.locker(t, postgres.LockerConfig{MaxHeld: 1})

	var turns sync.WaitGroup
	for range 5 {
		turns.Go(func() {
			got, err := locker.Acquire(t.Context(), "job")
			if err == nil {
				err = got.Release(t.Context())
			}
			if err != nil {
				t.Errorf("a waiter: %v", err)
			}
		})
	}
	db.awaitWaiters(t, "job", 1)
	require.Equal(t, 2, db.sessions(t), "the holder's, and one for all who wait")
	require.NoError(t, lock.Release(t.Context()))
	turns.Wait()
}

func TestLocker_AWaiterHoldsNoSnapshotAndBlocksNobody(t *testing.T) {
	db := newDatabase(t)
	db.exec(t, "create table things (id int)")
	lock := take(t, db.locker(t, postgres.LockerConfig{}), "job")
	locker := db.locker(t, postgres.LockerConfig{RetryInterval: 20 * time.Millisecond})
	waiting := async(func() error {
		_, err := locker.Acquire(t.Context(), "job")
		return err
	})
	db.awaitWaiters(t, "job", 1)
	require.Zero(t, query[int](t, db, `select count(*) from pg_locks where locktype = 'advisory' and not granted`),
		"a waiter must not stand in the server's own queue")
	require.NotContains(t, query[string](t, db, `select string_agg(state, ',') from pg_stat_activity
		where datname = current_database() and application_name = 'relay'`), "in transaction")
	db.exec(t, "create index concurrently on things (id)") // waits for snapshots older than its own
	require.NoError(t, lock.Release(t.Context()))
	require.NoError(t, <-waiting)
}

// awaitSessions returns once relay has n sessions.
func (d *database) awaitSessions(t testing.TB, n int) {
	t.Helper()
	for d.sessions(t) != n {
		require.NoError(t, t.Context().Err())
	}
}

// waiters counts the sessions that are registered as waiters for a name.
func (d *database) waiters(t testing.TB, name string) int {
	t.Helper()
	return query[int](t, d, `select count(*) from pg_locks
		where locktype = 'advisory' and granted and objsubid = 1 and mode = 'ShareLock'
		and database = (select oid from pg_database where datname = current_database())
		and (classid::bigint << 32) | objid::bigint = $1`, waitKey(name))
}

// awaitWaiters returns once n sessions are registered as waiters for a name.
func (d *database) awaitWaiters(t testing.TB, name string, n int) {
	t.Helper()
	for d.waiters(t, name) != n {
		require.NoError(t, t.Context().Err())
	}
}

// waitKey is what those who wait for a name hold: "WAIT" where its lock has
// "LOCK".
func waitKey(name string) int64 { return 6287387179912003584 | postgres.LockKey(name)&(1<<32-1) }

func TestLocker_AWaiterWhoseSessionDiesSaysSo(t *testing.T) {
	db := newDatabase(t)
	take(t, db.locker(t, postgres.LockerConfig{ApplicationName: "holder"}), "job")
	locker := db.locker(t, postgres.LockerConfig{RetryInterval: 20 * time.Millisecond})
	waiting := async(func() error {
		_, err := locker.Acquire(t.Context(), "job")
		return err
	})
	db.awaitWaiters(t, "job", 1)
	db.exec(t, `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and application_name = 'relay'`)
	err := <-waiting
	require.Error(t, err)
	require.NotErrorIs(t, err, relay.ErrLost, "it held nothing that it could lose")
	require.NotErrorIs(t, err, relay.ErrNotAcquired)
}
