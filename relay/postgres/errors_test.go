package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestEverything_AReadOnlyServerIsNamed(t *testing.T) {
	db := newMigratedDatabase(t)
	writer := db.leases(t, postgres.LeaseStoreConfig{})
	lease := grant(t, writer, "owner", time.Minute)
	require.NoError(t, db.registry(t, "group", 0).Heartbeat(t.Context(), "node"))

	cfg := db.config(t)
	cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	_, err := store.TryAcquireOrRenew(t.Context(), role, "another", time.Minute)
	require.ErrorIs(t, err, postgres.ErrReadOnly)
	require.ErrorIs(t, store.Release(t.Context(), lease), postgres.ErrReadOnly)
	require.ErrorIs(t, store.AdvanceToken(t.Context(), role, 9), postgres.ErrReadOnly)
	got, err := store.Current(t.Context(), role)
	require.NoError(t, err)
	require.Equal(t, lease, got, "reading works")

	registry, err := postgres.NewNodeRegistry(cfg, "group", 0, postgres.NodeRegistryConfig{})
	require.NoError(t, err)
	defer registry.Close(context.WithoutCancel(t.Context()))
	require.ErrorIs(t, registry.Heartbeat(t.Context(), "node"), postgres.ErrReadOnly)
	require.ErrorIs(t, registry.Leave(t.Context(), "node"), postgres.ErrReadOnly)
	nodes, err := registry.LiveNodes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"node"}, nodes, "reading works")

	tx := db.begin(t, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	require.ErrorIs(t, postgres.AdmitTx(t.Context(), tx, "resource", 1), postgres.ErrReadOnly)

	db.exec(t, "drop table relay_nodes")
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	require.ErrorIs(t, postgres.Migrate(t.Context(), pool), postgres.ErrReadOnly)
}

func TestEverything_AMissingTableNamesMigrate(t *testing.T) {
	db := newDatabase(t)
	var failed []relay.Event
	store := db.leases(t, postgres.LeaseStoreConfig{Observer: func(e relay.Event) { failed = append(failed, e) }})
	_, take := store.TryAcquireOrRenew(t.Context(), role, "owner", time.Minute)
	_, current := store.Current(t.Context(), role)
	registry := db.registry(t, "group", 0)
	_, live := registry.LiveNodes(t.Context())
	for what, err := range map[string]error{
		"TryAcquireOrRenew": take,
		"Current":           current,
		"Release":           store.Release(t.Context(), relay.Lease{Role: role, Owner: "owner", Token: 1}),
		"AdvanceToken":      store.AdvanceToken(t.Context(), role, 1),
		"Heartbeat":         registry.Heartbeat(t.Context(), "node"),
		"Leave":             registry.Leave(t.Context(), "node"),
		"LiveNodes":         live,
		"AdmitTx":           postgres.AdmitTx(t.Context(), db.begin(t, pgx.TxOptions{}), "resource", 1),
	} {
		require.ErrorIs(t, err, postgres.ErrNoTables, what)
		require.ErrorContains(t, err, "postgres.Migrate", what)
	}
	require.Len(t, failed, 4)
	require.Equal(t, relay.EventFailed, failed[0].Kind)
	require.Equal(t, role, failed[0].Name)
	require.ErrorIs(t, failed[0].Err, postgres.ErrNoTables)

	require.NoError(t, postgres.Migrate(t.Context(), db.pool))
	grant(t, store, "owner", time.Minute)
}
