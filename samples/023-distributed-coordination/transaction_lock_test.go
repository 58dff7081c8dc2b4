package coordination_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/postgres"
)

// exports is the table of the records: a night has one row, or none.
const exports = `create table exports (night date primary key)`

// exportOnce exports a night inside the caller's unit of work, unless another
// transaction is at it or one has done it. The lock, the work and the record
// that it is done live and die together.
func exportOnce(ctx context.Context, tx pgx.Tx, night string) (exported bool, err error) {
	locked, err := postgres.TryLockTx(ctx, tx, export)
	if err != nil || !locked {
		return false, err
	}
	var done bool
	err = tx.QueryRow(ctx, `select exists (select from exports where night = $1::date)`, night).Scan(&done)
	if err != nil || done {
		return false, err
	}
	_, err = tx.Exec(ctx, `insert into exports values ($1::date)`, night)
	return err == nil, err
}

func TestTransactionLock_RunsOnceWithARecordInTheSameUnitOfWork(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, exports)
	a, b, later := db.begin(t), db.begin(t), db.begin(t)

	exported, err := exportOnce(t.Context(), a, "2026-03-01")
	require.NoError(t, err)
	require.True(t, exported)
	exported, err = exportOnce(t.Context(), b, "2026-03-01")
	require.NoError(t, err)
	require.False(t, exported, "while a's transaction is open, b is refused and skips")
	require.NoError(t, a.Commit(t.Context()))

	exported, err = exportOnce(t.Context(), later, "2026-03-01")
	require.NoError(t, err)
	require.False(t, exported, "later the record says that it is done")
	require.Equal(t, 1, db.count(t, "exports"))
}

func TestTransactionLock_RollbackLeavesTheJobToTheNext(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, exports)
	a, b := db.begin(t), db.begin(t)

	exported, err := exportOnce(t.Context(), a, "2026-03-01")
	require.NoError(t, err)
	require.True(t, exported)
	require.NoError(t, a.Rollback(t.Context())) // a crash does the same

	exported, err = exportOnce(t.Context(), b, "2026-03-01")
	require.NoError(t, err)
	require.True(t, exported, "lock, work and record went together, so the next one does it")
}

// At REPEATABLE READ a transaction sees what was committed before its first
// statement, and nothing later: the lock is free, and the record is not seen.
func TestTransactionLock_UnderAnOldSnapshotOnlyAUniqueKeyRefusesTheSecondRun(t *testing.T) {
	for table, twice := range map[string]bool{
		exports:                             false,
		`create table exports (night date)`: true, // the twin, without a key
	} {
		db := newDatabase(t)
		db.execute(t, table)
		a, b := db.begin(t), db.begin(t)
		_, err := b.Exec(t.Context(), `set transaction isolation level repeatable read`)
		require.NoError(t, err)
		_, err = b.Exec(t.Context(), `select from exports`) // b's snapshot is of now
		require.NoError(t, err)

		_, err = exportOnce(t.Context(), a, "2026-03-01")
		require.NoError(t, err)
		require.NoError(t, a.Commit(t.Context()))

		exported, err := exportOnce(t.Context(), b, "2026-03-01")
		require.Equal(t, twice, exported, table)
		if !twice {
			require.ErrorContains(t, err, "duplicate key", "the key does not ask what b can see")
		}
	}
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
