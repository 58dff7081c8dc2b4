package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestMigrate_RunsFromManyNodesAtOnce(t *testing.T) {
	for range 2 {
		db := newDatabase(t)
		start := make(chan struct{})
		var nodes sync.WaitGroup
		for range 8 {
			pool, err := pgxpool.New(t.Context(), db.dsn)
			require.NoError(t, err)
			defer pool.Close()
			require.NoError(t, pool.Ping(t.Context()))
			nodes.Go(func() {
				<-start
				if err := postgres.Migrate(t.Context(), pool); err != nil {
					t.Errorf("a node: %v", err)
				}
			})
		}
		close(start)
		nodes.Wait()
		require.Zero(t, db.locks(t))
		grant(t, db.leases(t, postgres.LeaseStoreConfig{}), "owner", time.Minute)
	}
}

func TestMigrate_KeepsWhatIsThere(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	require.NoError(t, store.Release(t.Context(), grant(t, store, "owner", time.Minute)))
	db.exec(t, "drop table relay_nodes") // as if an older version had made the others
	require.NoError(t, postgres.Migrate(t.Context(), db.pool))
	require.NoError(t, postgres.Migrate(t.Context(), db.pool))
	require.Equal(t, relay.Token(2), grant(t, store, "owner", time.Minute).Token)
	require.NoError(t, db.registry(t, "group", 0).Heartbeat(t.Context(), "node"))
}

func TestMigrate_FindsTablesThroughTheSearchPath(t *testing.T) {
	db := newMigratedDatabase(t)
	db.exec(t, "create schema app")
	cfg := db.config(t)
	cfg.ConnConfig.RuntimeParams["search_path"] = "app, public"
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, postgres.Migrate(t.Context(), pool))
	require.Zero(t, query[int](t, db, "select count(*) from pg_tables where schemaname = 'app'"),
		"a second set of tables, found first, would start its tokens again")
}

func TestMigrate_MisuseIsAnError(t *testing.T) {
	require.ErrorContains(t, postgres.Migrate(t.Context(), nil), "nil")
	require.ErrorContains(t, postgres.Migrate(t.Context(), (*pgxpool.Pool)(nil)), "nil")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	db := newDatabase(t)
	require.ErrorIs(t, postgres.Migrate(ended, db.pool), context.Canceled)
}

func TestSchema_CanBeRunByAnotherTool(t *testing.T) {
	db := newDatabase(t)
	db.exec(t, postgres.Schema(), pgx.QueryExecModeSimpleProtocol)
	db.exec(t, postgres.Schema(), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, postgres.Migrate(t.Context(), db.pool))
	require.Zero(t, query[int](t, db, `select count(*) from pg_class
		where relname like 'relay\_%' and relkind = 'r' and relpersistence <> 'p'`), "no table is UNLOGGED")
	require.Contains(t, query[string](t, db, "select reloptions::text from pg_class where relname = 'relay_leases'"),
		"fillfactor=50")
	require.Zero(t, query[int](t, db, "select count(*) from pg_indexes where indexdef like '%expires_at%'"),
		"an index on what each renewal changes doubles its cost")
}
