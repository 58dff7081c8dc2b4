package coordination_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// Database is a PostgreSQL database that belongs to one test: from
// RELAY_TEST_DATABASE_URL, from a container, or from an installed server.
type Database struct {
	Config *pgxpool.Config
	Pool   *pgxpool.Pool // the service's own; locks never come from it
}

func newDatabase(t *testing.T) *Database {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(pgtest.DSN(t))
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg.Copy())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return &Database{cfg, pool}
}

// newLocker returns a Locker with sessions of its own, as each instance of a
// service has one. Two of them exclude each other as two processes do.
func (d *Database) newLocker(t *testing.T, tune ...func(*postgres.LockerConfig)) *postgres.Locker {
	t.Helper()
	var cfg postgres.LockerConfig
	for _, f := range tune {
		f(&cfg)
	}
	locker, err := postgres.NewLocker(d.Config, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locker.Close(context.Background())) })
	return locker
}

// newWaiter returns a Locker that tries again soon, and a channel that tells of
// each wait, so that a test knows when somebody waits.
func (d *Database) newWaiter(t *testing.T) (*postgres.Locker, <-chan struct{}) {
	t.Helper()
	waits := make(chan struct{}, 1000)
	return d.newLocker(t, func(cfg *postgres.LockerConfig) {
		cfg.RetryInterval = 50 * time.Millisecond
		cfg.Jitter = func(time.Duration) time.Duration { // asked for before each wait
			waits <- struct{}{}
			return 0
		}
	}), waits
}

// newLeaseStore returns a LeaseStore over tables that Migrate has made.
func (d *Database) newLeaseStore(t *testing.T) *postgres.LeaseStore {
	t.Helper()
	require.NoError(t, postgres.Migrate(t.Context(), d.Pool))
	leases, err := postgres.NewLeaseStore(d.Config, postgres.LeaseStoreConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, leases.Close(context.Background())) })
	return leases
}

func (d *Database) begin(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := d.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// execute runs a statement on the service's own pool.
func (d *Database) execute(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := d.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (d *Database) count(t *testing.T, table string) (n int) {
	t.Helper()
	require.NoError(t, d.Pool.QueryRow(t.Context(), `select count(*) from `+table).Scan(&n))
	return n
}

// awaitFree returns when nobody holds the lock. It waits in the server's own
// queue, so that it misses nothing, and gives up after ten seconds.
func (d *Database) awaitFree(t *testing.T, name, because string) {
	t.Helper()
	tx := d.begin(t)
	_, err := tx.Exec(t.Context(), `set local lock_timeout = '10s'`)
	require.NoError(t, err)
	require.NoError(t, postgres.LockTx(t.Context(), tx, name), because)
	require.NoError(t, tx.Rollback(t.Context()))
}

// killSessionOf ends the server session that holds a lock, as a crash of its
// client, a network fault or an administrator does.
func (d *Database) killSessionOf(t *testing.T, name string) {
	t.Helper()
	var killed int
	err := d.Pool.QueryRow(t.Context(), `
		select count(*) filter (where pg_terminate_backend(pid))
		from pg_locks
		where locktype = 'advisory' and granted and objsubid = 1
		  and database = (select oid from pg_database where datname = current_database())
		  and (classid::bigint << 32) | objid::bigint = $1`, postgres.LockKey(name)).Scan(&killed)
	require.NoError(t, err)
	require.Equal(t, 1, killed, "one session holds the lock")
}

// hold takes a lock, which must be free, until the test ends.
func hold(t *testing.T, locker relay.Locker, name string) relay.Lock {
	t.Helper()
	lock, err := locker.TryAcquire(t.Context(), name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = lock.Release(context.Background()) })
	return lock
}

// requireHeld fails unless somebody holds the lock.
func requireHeld(t *testing.T, locker relay.Locker, name, because string) {
	t.Helper()
	_, err := locker.TryAcquire(t.Context(), name)
	require.ErrorIs(t, err, relay.ErrNotAcquired, because)
}

// lost tells whether the holder has been told by now.
func lost(lock relay.Lock) bool {
	select {
	case <-lock.Lost():
		return true
	default:
		return false
	}
}

// requireFree fails unless the lock can be had.
func requireFree(t *testing.T, locker relay.Locker, name, because string) {
	t.Helper()
	lock, err := locker.TryAcquire(t.Context(), name)
	require.NoError(t, err, because)
	require.NoError(t, lock.Release(t.Context()))
}
