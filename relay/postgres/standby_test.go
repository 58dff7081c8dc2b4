//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// newPair starts a primary and an asynchronous standby of it.
func newPair(t testing.TB) (primary, standby server) {
	t.Helper()
	primary = newServer(t)
	primary.migrate(t)
	return primary, open(t, primary.NewStandby(t))
}

// awaitReplay returns when the standby has applied what the primary has written.
func awaitReplay(t testing.TB, primary, standby server) {
	t.Helper()
	written := query[string](t, primary.database, "select pg_current_wal_insert_lsn()::text")
	for !query[bool](t, standby.database, "select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", written) {
		require.NoError(t, t.Context().Err())
	}
}

func TestStandby_TakesAndChangesNothingAndAnswersWhatItKnows(t *testing.T) {
	primary, standby := newPair(t)
	lease, err := primary.leases(t, postgres.LeaseStoreConfig{}).TryAcquireOrRenew(t.Context(), "role", "owner", time.Hour)
	require.NoError(t, err)
	require.NoError(t, primary.registry(t, "group", time.Hour).Heartbeat(t.Context(), "node"))
	awaitReplay(t, primary, standby)

	store := standby.leases(t, postgres.LeaseStoreConfig{})
	registry := standby.registry(t, "group", time.Hour)
	locker := standby.locker(t, postgres.LockerConfig{ApplicationName: "locker"})
	serializable := standby.config(t)
	serializable.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	serializableLocker := newLocker(t, serializable, postgres.LockerConfig{ApplicationName: "locker"})
	inTx := func(call func(ctx context.Context, tx pgx.Tx) error) func(ctx context.Context) error {
		return func(ctx context.Context) error { return call(ctx, standby.begin(t, pgx.TxOptions{})) }
	}
	for what, call := range map[string]func(ctx context.Context) error{
		"TryAcquire": func(ctx context.Context) error { _, err := locker.TryAcquire(ctx, "job"); return err },
		"TryAcquire, serializable": func(ctx context.Context) error {
			_, err := serializableLocker.TryAcquire(ctx, "job")
			return err
		},
		"TryLockTx, serializable": func(ctx context.Context) error {
			conn, err := pgx.ConnectConfig(ctx, serializable.ConnConfig)
			require.NoError(t, err)
			defer conn.Close(ctx)
			tx, err := conn.Begin(ctx)
			require.NoError(t, err)
			_, err = postgres.TryLockTx(ctx, tx, "job")
			return err
		},
		"Acquire": func(ctx context.Context) error { _, err := locker.Acquire(ctx, "job"); return err },
		"TryAcquireOrRenew by another": func(ctx context.Context) error {
			_, err := store.TryAcquireOrRenew(ctx, "role", "another", time.Hour)
			return err
		},
		"TryAcquireOrRenew by the holder": func(ctx context.Context) error {
			_, err := store.TryAcquireOrRenew(ctx, "role", "owner", time.Hour)
			return err
		},
		"Release":      func(ctx context.Context) error { return store.Release(ctx, lease) },
		"AdvanceToken": func(ctx context.Context) error { return store.AdvanceToken(ctx, "role", 9) },
		"Heartbeat":    func(ctx context.Context) error { return registry.Heartbeat(ctx, "node") },
		"Leave":        func(ctx context.Context) error { return registry.Leave(ctx, "node") },
		"Migrate":      func(ctx context.Context) error { return postgres.Migrate(ctx, standby.pool) },
		"TryLockTx": inTx(func(ctx context.Context, tx pgx.Tx) error {
			got, err := postgres.TryLockTx(ctx, tx, "job")
			require.False(t, got)
			return err
		}),
		"LockTx":  inTx(func(ctx context.Context, tx pgx.Tx) error { return postgres.LockTx(ctx, tx, "job") }),
		"AdmitTx": inTx(func(ctx context.Context, tx pgx.Tx) error { return postgres.AdmitTx(ctx, tx, "ledger", 1) }),
	} {
		err := call(t.Context())
		if what == "Migrate" && err == nil {
			continue // every table is there: it changes nothing
		}
		require.ErrorIs(t, err, postgres.ErrReadOnly, what)
		require.NotErrorIs(t, err, relay.ErrNotAcquired, what)
	}
	require.Zero(t, standby.locks(t), "a lock on a standby excludes nobody on the primary")
	standby.awaitSessionsNamed(t, "locker", 0)

	got, err := store.Current(t.Context(), "role")
	require.NoError(t, err)
	require.Equal(t, lease, got)
	list, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, lease, list[0].Lease)
	require.True(t, list[0].Live)
	nodes, err := registry.LiveNodes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"node"}, nodes)
	holders, err := locker.Holders(t.Context(), "job")
	require.NoError(t, err)
	require.Empty(t, holders)
}

func TestFailover_AnAsynchronousStandbyRepeatsATokenUnlessItIsAdvanced(t *testing.T) {
	primary, standby := newPair(t)
	owners := 0
	grant := func(db server, role string) relay.Token {
		owners++
		store := db.leases(t, postgres.LeaseStoreConfig{})
		lease, err := store.TryAcquireOrRenew(t.Context(), role, fmt.Sprint("owner ", owners), brief)
		require.NoError(t, err)
		return lease.Token
	}
	grant(primary, "repeated")
	grant(primary, "advanced")
	awaitReplay(t, primary, standby)
	require.NoError(t, standby.Stop()) // it falls behind
	repeated, advanced := grant(primary, "repeated"), grant(primary, "advanced")
	primary.crash(t)
	standby.start(t)
	require.NoError(t, standby.Promote(t.Context()))

	require.Equal(t, repeated, grant(standby, "repeated"), "two leaders have the same token, and no fence tells them apart")

	runbook := standby.leases(t, postgres.LeaseStoreConfig{})
	require.NoError(t, runbook.AdvanceToken(t.Context(), "advanced", advanced))
	require.Equal(t, advanced+1, grant(standby, "advanced"))
	require.NoError(t, runbook.AdvanceToken(t.Context(), "repeated", 1000))
	require.Equal(t, relay.Token(1001), grant(standby, "repeated"))
}
