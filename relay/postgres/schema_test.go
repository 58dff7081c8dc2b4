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

// A second relay_leases that is found before the first starts its tokens again.
func TestMigrate_PutsAMissingTableBesideTheOthers(t *testing.T) {
	for _, missing := range []string{"relay_leases", "relay_nodes", "relay_fences"} {
		db := newDatabase(t)
		db.exec(t, `create schema app; create schema "Other Schema"; set search_path = "Other Schema";`+postgres.Schema()+
			`; drop table `+missing+`; reset search_path`, pgx.QueryExecModeSimpleProtocol)
		through := openDatabase(t, db.dsn, `app, "Other Schema", public`)
		require.NoError(t, postgres.Migrate(t.Context(), through.pool))
		require.Equal(t, "Other Schema relay_fences, Other Schema relay_leases, Other Schema relay_nodes",
			query[string](t, db, `select string_agg(schemaname || ' ' || tablename, ', ' order by 1)
			from pg_tables where tablename like 'relay\_%'`))
		require.NoError(t, postgres.Migrate(t.Context(), through.pool))

		db.exec(t, `drop table "Other Schema".`+missing)
		tx := through.begin(t, pgx.TxOptions{})
		require.NoError(t, postgres.Migrate(t.Context(), tx))
		var path string
		require.NoError(t, tx.QueryRow(t.Context(), "show search_path").Scan(&path))
		require.Equal(t, through.searchPath, path, "a transaction of the user's goes on where it was")
	}
}

func TestMigrate_RefusesToGuessWhereAMissingTableBelongs(t *testing.T) {
	db := newMigratedDatabase(t)
	db.exec(t, "create schema app; alter table relay_fences set schema app; drop table relay_nodes", pgx.QueryExecModeSimpleProtocol)
	through := openDatabase(t, db.dsn, "app, public")
	err := postgres.Migrate(t.Context(), through.pool)
	require.ErrorContains(t, err, "relay_leases is in public, relay_nodes is missing, relay_fences is in app")
	require.Equal(t, 2, query[int](t, db, `select count(*) from pg_tables where tablename like 'relay\_%'`), "nothing was made")
	db.exec(t, "create table app.relay_nodes (like public.relay_leases)")
	require.NoError(t, postgres.Migrate(t.Context(), through.pool), "all are there, wherever that is")
}

func TestMigrate_RefusesWhatCanNotKeepATokenAndNamesTheMend(t *testing.T) {
	all := newDatabase(t)
	for spoil, want := range map[string]string{
		"alter table relay_leases set unlogged":                                             ".relay_leases set logged",
		"alter table relay_fences set unlogged":                                             ".relay_fences set logged",
		"drop table relay_leases; create view relay_leases as select 1 as role":             ".relay_leases is a view, not a table",
		"drop table relay_nodes; create sequence relay_nodes":                               ".relay_nodes is a sequence, not a table",
		"drop table relay_fences; create materialized view relay_fences as select 1 as one": "is a materialized view, not a table",
	} {
		db := all.schema(t)
		db.exec(t, spoil, pgx.QueryExecModeSimpleProtocol)
		require.ErrorContains(t, postgres.Migrate(t.Context(), db.pool), want)
	}
	db := all.schema(t)
	db.exec(t, "alter table relay_nodes set unlogged")
	require.NoError(t, postgres.Migrate(t.Context(), db.pool), "heartbeats come again")

	conn, err := pgx.ConnectConfig(t.Context(), db.config(t).ConnConfig)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), "create temporary table relay_leases (role text)")
	require.NoError(t, err)
	require.ErrorContains(t, postgres.Migrate(t.Context(), conn), "relay_leases is a temporary table")
}

func TestMigrate_SeesWhatOthersHaveMadeWhateverTheIsolation(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	for range 3 {
		var nodes sync.WaitGroup
		for range 5 {
			conn, err := pgx.ConnectConfig(t.Context(), cfg.ConnConfig)
			require.NoError(t, err)
			defer conn.Close(context.WithoutCancel(t.Context()))
			nodes.Go(func() {
				if err := postgres.Migrate(t.Context(), conn); err != nil {
					t.Errorf("a node: %v", err)
				}
			})
		}
		nodes.Wait()
		db.exec(t, "drop table relay_leases, relay_nodes, relay_fences")
	}
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
