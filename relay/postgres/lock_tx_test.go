package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestLockTx_ExcludesTheSessionLockOfTheSameName(t *testing.T) {
	db := newDatabase(t)
	locker := db.locker(t, postgres.LockerConfig{RetryInterval: 20 * time.Millisecond})
	tx := db.begin(t, pgx.TxOptions{})
	require.NoError(t, postgres.LockTx(t.Context(), tx, "job"))
	_, err := locker.TryAcquire(t.Context(), "job")
	require.ErrorIs(t, err, relay.ErrNotAcquired, "a transaction holds it")
	require.NoError(t, tx.Commit(t.Context()))

	take(t, locker, "job")
	tx = db.begin(t, pgx.TxOptions{})
	got, err := postgres.TryLockTx(t.Context(), tx, "job")
	require.NoError(t, err)
	require.False(t, got, "a session holds it")
	got, err = postgres.TryLockTx(t.Context(), tx, "another job")
	require.NoError(t, err)
	require.True(t, got)
}

func TestLockTx_WaitsForTheTransactionThatHoldsIt(t *testing.T) {
	db := newDatabase(t)
	first, second := db.begin(t, pgx.TxOptions{}), db.begin(t, pgx.TxOptions{})
	require.NoError(t, postgres.LockTx(t.Context(), first, "job"))
	waiting := async(func() error { return postgres.LockTx(t.Context(), second, "job") })
	db.awaitBlocked(t)
	require.NoError(t, first.Rollback(t.Context()))
	require.NoError(t, <-waiting)
}

func TestLockTx_RollbackToSavepointDropsIt(t *testing.T) {
	db := newDatabase(t)
	tx, other := db.begin(t, pgx.TxOptions{}), db.begin(t, pgx.TxOptions{})
	savepoint, err := tx.Begin(t.Context())
	require.NoError(t, err)
	got, err := postgres.TryLockTx(t.Context(), savepoint, "job")
	require.NoError(t, err)
	require.True(t, got)
	require.NoError(t, savepoint.Rollback(t.Context()))
	got, err = postgres.TryLockTx(t.Context(), other, "job")
	require.NoError(t, err)
	require.True(t, got, "the lock went with the savepoint")
}

func TestLockTx_MisuseIsAnErrorAndLeavesTheTransactionUsable(t *testing.T) {
	db := newDatabase(t)
	tx := db.begin(t, pgx.TxOptions{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]func(ctx context.Context, tx pgx.Tx, name string) error{
		"LockTx": postgres.LockTx,
		"TryLockTx": func(ctx context.Context, tx pgx.Tx, name string) error {
			_, err := postgres.TryLockTx(ctx, tx, name)
			return err
		},
		"AdmitTx": func(ctx context.Context, tx pgx.Tx, name string) error {
			return postgres.AdmitTx(ctx, tx, name, 1)
		},
	}
	for what, call := range calls {
		require.ErrorContains(t, call(t.Context(), nil, "job"), "nil", what)
		require.ErrorContains(t, call(t.Context(), (*pgxpool.Tx)(nil), "job"), "nil", what)
		require.ErrorContains(t, call(t.Context(), &pgxpool.Tx{}, "job"), "nil", what)
		for _, name := range []string{"", "a\x00b", "a\xffb", strings.Repeat("x", 256)} {
			require.ErrorIs(t, call(t.Context(), tx, name), relay.ErrInvalidName, "%s(%q)", what, name)
		}
		require.ErrorIs(t, call(ended, tx, "job"), context.Canceled, what)
	}
	require.NoError(t, postgres.LockTx(t.Context(), tx, "job"), "nothing of that reached the server")
}

func TestLockTx_AStandbyGrantsNothing(t *testing.T) {
	db := newDatabase(t)
	conn, err := pgx.ConnectConfig(t.Context(), db.pretendStandby(t).ConnConfig)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	got, err := postgres.TryLockTx(t.Context(), tx, "job")
	require.False(t, got)
	require.ErrorIs(t, err, postgres.ErrReadOnly)
	require.ErrorIs(t, postgres.LockTx(t.Context(), tx, "job"), postgres.ErrReadOnly)
	require.Zero(t, db.locks(t))
}
