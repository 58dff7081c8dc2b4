package coordination_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

const export = "nightly-export"

func TestSessionLock_IsExclusiveAcrossInstances(t *testing.T) {
	db := newDatabase(t)
	a, b := db.newLocker(t), db.newLocker(t)

	hold(t, a, export)

	requireHeld(t, b, export, "another instance gets ErrNotAcquired, and skips the job")
	requireHeld(t, a, export, "and so does a second caller in the same process")
}

// nightlyExport runs the export, unless another instance is at it.
func nightlyExport(ctx context.Context, locker relay.Locker, run func(context.Context) error) (ran bool, err error) {
	lock, err := locker.TryAcquire(ctx, "nightly-export")
	switch {
	case errors.Is(err, relay.ErrNotAcquired):
		return false, nil // another instance is at it: skip
	case err != nil:
		return false, err // no answer is not "yes"
	}
	defer func() { err = errors.Join(err, lock.Release(ctx)) }()
	return true, run(ctx)
}

func TestSessionLock_JobIsSkippedWhileAnotherInstanceRunsIt(t *testing.T) {
	db := newDatabase(t)
	a, b := db.newLocker(t), db.newLocker(t)
	exports := 0

	ran, err := nightlyExport(t.Context(), a, func(ctx context.Context) error {
		exports++
		ran, err := nightlyExport(ctx, b, func(context.Context) error { // meanwhile, elsewhere
			exports++
			return nil
		})
		require.False(t, ran, "the second instance skips the job")
		return err
	})

	require.NoError(t, err, "being refused is an answer, not a failure")
	require.True(t, ran)
	require.Equal(t, 1, exports)
	requireFree(t, b, export, "and the lock is free for the next night")
}

func TestSessionLock_IsFreeAgainAfterRelease(t *testing.T) {
	db := newDatabase(t)
	a, b := db.newLocker(t), db.newLocker(t)

	lock := hold(t, a, export)
	require.NoError(t, lock.Release(t.Context()))

	requireFree(t, b, export, "the release has reached the server when it returns")
}

func TestSessionLock_DistinctNamesDoNotContend(t *testing.T) {
	db := newDatabase(t)
	a, b := db.newLocker(t), db.newLocker(t)

	hold(t, a, export)

	requireFree(t, b, "nightly-import", "a lock is on its name, not on the service")
}

func TestSessionLock_WaiterGetsItAfterTheRelease(t *testing.T) {
	db := newDatabase(t)
	a := db.newLocker(t)
	b, waits := db.newWaiter(t)
	lock := hold(t, a, export)

	var released atomic.Bool
	waited := make(chan error, 1)
	go func() {
		waited <- relay.WithLock(t.Context(), b, export, func(context.Context) error {
			if !released.Load() {
				return errors.New("entered while another instance held the lock")
			}
			return nil
		})
	}()
	select {
	case <-waits: // b has tried, was refused, and waits
	case err := <-waited:
		require.NoError(t, err, "Acquire gave up where it has to wait")
	}
	released.Store(true)
	require.NoError(t, lock.Release(t.Context()))

	require.NoError(t, <-waited, "Acquire waits where TryAcquire gives up")
}

func TestSessionLock_IsFreedAndItsHolderToldWhenTheSessionDies(t *testing.T) {
	db := newDatabase(t)
	a, b := db.newLocker(t), db.newLocker(t)

	err := relay.WithLock(t.Context(), a, export, func(ctx context.Context) error {
		db.killSessionOf(t, export)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), relay.ErrLost, "the work is told, and why")
		return nil
	})

	require.ErrorIs(t, err, relay.ErrLost, "and so is the caller, although the work returned nil")
	next, err := b.Acquire(t.Context(), export)
	require.NoError(t, err, "the server frees the locks of a session that ends: a crash leaves nothing behind")
	require.NoError(t, next.Release(t.Context()))
}

func TestSessionLock_TakesNoConnectionFromTheServicesPool(t *testing.T) {
	db := newDatabase(t)
	db.Config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), db.Config.Copy())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	only, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer only.Release()

	locker := db.newLocker(t)
	hold(t, locker, export)
	hold(t, locker, "nightly-import") // a holder that needed a second connection of the pool would starve
}

// The twin: what happens to a lock on a connection of the pool.
func TestSessionLock_OnAPooledConnectionIsLeftBehind(t *testing.T) {
	db := newDatabase(t)
	conn, err := db.Pool.Acquire(t.Context())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `select pg_advisory_lock($1)`, postgres.LockKey(export))
	require.NoError(t, err)

	conn.Release() // the connection goes back to the pool, and its session lives on

	requireHeld(t, db.newLocker(t), export, "the session still has the lock, and nobody knows that it does")
}

func TestSessionLock_BindsOnlyThoseWhoAskForIt(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, `create table exports (night date)`)
	hold(t, db.newLocker(t), export)

	db.execute(t, `insert into exports values ('2026-03-01')`) // by a session that takes no lock

	require.Equal(t, 1, db.count(t, "exports"), "the lock is advisory: it is an agreement, not a guard")
}

func TestSessionLock_SameNameInAnotherDatabaseDoesNotExclude(t *testing.T) {
	here, there := newDatabase(t), newDatabase(t)

	hold(t, here.newLocker(t), export)

	requireFree(t, there.newLocker(t), export,
		"advisory locks belong to a database: instances that share a lock must share the database")
}

func TestSessionLock_AnotherNamespaceDoesNotCollide(t *testing.T) {
	db := newDatabase(t)
	tx := db.begin(t)
	low := postgres.LockKey(export) & 0xffff_ffff // the hash of the name
	proj := int64(0x50524F4A) << 32               // "PROJ", where ours has "LOCK"
	_, err := tx.Exec(t.Context(), `select pg_advisory_xact_lock($1)`, proj|low)
	require.NoError(t, err)

	requireFree(t, db.newLocker(t), export, "the high half of the key is the namespace, so equal hashes in two of them differ")
}
