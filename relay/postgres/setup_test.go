package postgres_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// database is a database of the test's own, and a pool to look into it.
type database struct {
	dsn        string
	searchPath string // empty: the server's default
	pool       *pgxpool.Pool
}

func newDatabase(t testing.TB) *database {
	t.Helper()
	return openDatabase(t, pgtest.DSN(t), "")
}

func openDatabase(t testing.TB, dsn, searchPath string) *database {
	t.Helper()
	db := &database{dsn: dsn, searchPath: searchPath}
	pool, err := pgxpool.NewWithConfig(t.Context(), db.config(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db.pool = pool
	return db
}

// schema is a new schema with relay's tables, which is cheaper to make than a
// database, and hides all others.
func (d *database) schema(t testing.TB) *database {
	t.Helper()
	name := "s" + strings.ToLower(rand.Text())
	d.exec(t, "create schema "+name)
	s := openDatabase(t, d.dsn, name)
	require.NoError(t, postgres.Migrate(t.Context(), s.pool))
	return s
}

func newMigratedDatabase(t testing.TB) *database {
	t.Helper()
	db := newDatabase(t)
	require.NoError(t, postgres.Migrate(t.Context(), db.pool))
	return db
}

func (d *database) config(t testing.TB) *pgxpool.Config {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(d.dsn)
	require.NoError(t, err)
	if d.searchPath != "" {
		cfg.ConnConfig.RuntimeParams["search_path"] = d.searchPath
	}
	return cfg
}

func (d *database) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	_, err := d.pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func query[T any](t testing.TB, d *database, sql string, args ...any) T {
	t.Helper()
	var v T
	require.NoError(t, d.pool.QueryRow(t.Context(), sql, args...).Scan(&v))
	return v
}

// takesLong is for tests that wait for a second or more, most of them for a time
// limit of the server's.
func takesLong(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// sleep returns when d has passed on the server's clock.
func (d *database) sleep(t testing.TB, wait time.Duration) {
	t.Helper()
	d.exec(t, "select pg_sleep($1)", wait.Seconds())
}

// holder returns the backend that holds a name's lock, 0 if none.
func (d *database) holder(t testing.TB, name string) int {
	t.Helper()
	return query[int](t, d, `select coalesce(max(pid), 0) from pg_locks
		where locktype = 'advisory' and granted and objsubid = 1
		and database = (select oid from pg_database where datname = current_database())
		and (classid::bigint << 32) | objid::bigint = $1`, postgres.LockKey(name))
}

// locks counts the advisory locks of this database, awaited ones included.
func (d *database) locks(t testing.TB) int {
	t.Helper()
	return query[int](t, d, `select count(*) from pg_locks where locktype = 'advisory'
		and database = (select oid from pg_database where datname = current_database())`)
}

// sessions counts the sessions of relay's adapters.
func (d *database) sessions(t testing.TB) int {
	t.Helper()
	return query[int](t, d, `select count(*) from pg_stat_activity
		where datname = current_database() and application_name = 'relay'`)
}

func (d *database) terminate(t testing.TB, pid int) {
	t.Helper()
	require.NotZero(t, pid, "no backend holds the lock")
	require.True(t, query[bool](t, d, "select pg_terminate_backend($1)", pid))
}

func (d *database) locker(t testing.TB, cfg postgres.LockerConfig) *postgres.Locker {
	t.Helper()
	return newLocker(t, d.config(t), cfg)
}

func newLocker(t testing.TB, pool *pgxpool.Config, cfg postgres.LockerConfig) *postgres.Locker {
	t.Helper()
	l, err := postgres.NewLocker(pool, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, l.Close(context.WithoutCancel(t.Context())))
	})
	return l
}

func (d *database) leases(t testing.TB, cfg postgres.LeaseStoreConfig) *postgres.LeaseStore {
	t.Helper()
	return newLeases(t, d.config(t), cfg)
}

func newLeases(t testing.TB, pool *pgxpool.Config, cfg postgres.LeaseStoreConfig) *postgres.LeaseStore {
	t.Helper()
	s, err := postgres.NewLeaseStore(pool, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close(context.WithoutCancel(t.Context())))
	})
	return s
}

func (d *database) registry(t testing.TB, group string, ttl time.Duration) *postgres.NodeRegistry {
	t.Helper()
	r, err := postgres.NewNodeRegistry(d.config(t), group, ttl, postgres.NodeRegistryConfig{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.Close(context.WithoutCancel(t.Context())))
	})
	return r
}

// begin opens a transaction on a session of its own.
func (d *database) begin(t testing.TB, options pgx.TxOptions) pgx.Tx {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), d.config(t).ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	tx, err := conn.BeginTx(t.Context(), options)
	require.NoError(t, err)
	return tx
}

// awaitBlocked returns once a session of this database waits for a lock that
// another one holds. It asks the server, which is where the wait begins.
func (d *database) awaitBlocked(t testing.TB) {
	t.Helper()
	for query[int](t, d, `select count(*) from pg_stat_activity
		where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`) == 0 {
		require.NoError(t, t.Context().Err())
	}
}

// async runs call beside the test and returns where its answer arrives.
func async[T any](call func() T) <-chan T {
	answer := make(chan T, 1)
	go func() { answer <- call() }()
	return answer
}

func take(t testing.TB, l *postgres.Locker, name string) relay.Lock {
	t.Helper()
	lock, err := l.TryAcquire(t.Context(), name)
	require.NoError(t, err)
	return lock
}
