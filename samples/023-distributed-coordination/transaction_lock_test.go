package coordination_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/postgres"
)

// exportOnce exports a night inside the caller's unit of work, unless another
// transaction is at it or one has done it. The lock, the work and the record
// that it is done live and die together.
func exportOnce(t *testing.T, tx pgx.Tx, night string) (exported bool) {
	t.Helper()
	locked, err := postgres.TryLockTx(t.Context(), tx, export)
	require.NoError(t, err)
	if !locked {
		return false
	}
	var done bool
	require.NoError(t, tx.QueryRow(t.Context(), `select exists (select from exports where night = $1::date)`, night).Scan(&done))
	if done {
		return false
	}
	_, err = tx.Exec(t.Context(), `insert into exports values ($1::date)`, night)
	require.NoError(t, err)
	return true
}

func TestTransactionLock_RunsOnceWithARecordInTheSameUnitOfWork(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, `create table exports (night date)`)

	a, b := db.begin(t), db.begin(t)
	require.True(t, exportOnce(t, a, "2026-03-01"))
	require.False(t, exportOnce(t, b, "2026-03-01"), "while a's transaction is open, b is refused and skips")
	require.NoError(t, a.Commit(t.Context()))

	require.False(t, exportOnce(t, db.begin(t), "2026-03-01"), "later the record says that it is done")
	require.Equal(t, 1, db.count(t, "exports"))
}

func TestTransactionLock_RollbackLeavesTheJobToTheNext(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, `create table exports (night date)`)

	a, b := db.begin(t), db.begin(t)
	require.True(t, exportOnce(t, a, "2026-03-01"))
	require.NoError(t, a.Rollback(t.Context())) // a crash does the same

	require.True(t, exportOnce(t, b, "2026-03-01"), "lock, work and record went together, so the next one does it")
}

// The twin: the same lock around a job that leaves no record.
func TestTransactionLock_WithoutARecordIsOneAtATimeAndNotOnce(t *testing.T) {
	db := newDatabase(t)
	runs := 0
	for range 3 { // three instances, one after the other
		tx := db.begin(t)
		require.NoError(t, postgres.LockTx(t.Context(), tx, export))
		runs++
		require.NoError(t, tx.Commit(t.Context()))
	}
	require.Equal(t, 3, runs, "a lock says who may now; it does not remember who has")
}

func TestTransactionLock_IsFreedByCommitAndByRollback(t *testing.T) {
	db := newDatabase(t)
	locker := db.newLocker(t)

	for _, end := range []string{"commit", "rollback"} {
		tx := db.begin(t)
		locked, err := postgres.TryLockTx(t.Context(), tx, export)
		require.NoError(t, err)
		require.True(t, locked)
		requireHeld(t, locker, export, "session locks and transaction locks of a name exclude each other")

		if end == "commit" {
			require.NoError(t, tx.Commit(t.Context()))
		} else {
			require.NoError(t, tx.Rollback(t.Context()))
		}
		requireFree(t, locker, export, end+" frees the lock: there is nothing to release")
	}
}

func TestTransactionLock_IsRefusedWhileASessionHoldsTheName(t *testing.T) {
	db := newDatabase(t)
	hold(t, db.newLocker(t), export)

	locked, err := postgres.TryLockTx(t.Context(), db.begin(t), export)

	require.NoError(t, err, "being refused is an answer, and the transaction goes on")
	require.False(t, locked)
}

func TestTransactionLock_IsDroppedByRollbackToSavepoint(t *testing.T) {
	db := newDatabase(t)
	tx := db.begin(t)

	savepoint, err := tx.Begin(t.Context())
	require.NoError(t, err)
	locked, err := postgres.TryLockTx(t.Context(), savepoint, export)
	require.NoError(t, err)
	require.True(t, locked)
	require.NoError(t, savepoint.Rollback(t.Context())) // ROLLBACK TO SAVEPOINT

	requireFree(t, db.newLocker(t), export,
		"the transaction goes on without the lock that was taken after the savepoint: take it before")
}
