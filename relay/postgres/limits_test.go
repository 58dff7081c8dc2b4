//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// small are the settings of a server that is soon full.
var small = []string{
	"max_connections=10", "max_locks_per_transaction=10", "superuser_reserved_connections=0",
	"max_wal_senders=0", "max_worker_processes=0", "autovacuum_max_workers=1", "autovacuum=off",
}

// requireCode says that the server refused with this SQLSTATE.
func requireCode(t testing.TB, code string, err error) {
	t.Helper()
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code)
}

// locksBeside counts the advisory locks of everybody but one backend. It touches no
// table that all databases share, for which a full lock table has no room.
func (s server) locksBeside(t testing.TB, pid uint32) int {
	t.Helper()
	return query[int](t, s.database, "select count(*) from pg_locks where locktype = 'advisory' and pid <> $1", pid)
}

func TestLocker_AFullLockTableIsNamedAndCostsNoLockThatIsHeld(t *testing.T) {
	db := newServer(t, small...)
	foreign, err := pgx.Connect(t.Context(), db.dsn)
	require.NoError(t, err)
	defer foreign.Close(context.WithoutCancel(t.Context()))
	pid := foreign.PgConn().PID()
	locker := db.locker(t, postgres.LockerConfig{ApplicationName: "locker"})
	held := []relay.Lock{take(t, locker, "held 1"), take(t, locker, "held 2"), take(t, locker, "held 3")}
	tx := db.begin(t, pgx.TxOptions{})
	beside := db.locksBeside(t, pid)

	_, err = foreign.Exec(t.Context(), "select pg_advisory_lock(n) from generate_series(1, 100000) n")
	requireCode(t, "53200", err) // and what it got until then stays

	granted := takeWhatIsLeft(t, locker, 50)
	require.Less(t, len(granted), 30, "the lock table is not full")
	held = append(held, granted...)
	_, err = locker.Acquire(t.Context(), "one more")
	require.ErrorIs(t, err, postgres.ErrLockTableFull)
	require.NotErrorIs(t, err, relay.ErrNotAcquired)
	require.ErrorIs(t, postgres.LockTx(t.Context(), tx, "one more"), postgres.ErrLockTableFull)
	require.NoError(t, tx.Rollback(t.Context()))

	require.Equal(t, beside+len(held)-3, db.locksBeside(t, pid), "nobody holds what was refused")
	for _, lock := range held {
		require.NoError(t, lock.Release(t.Context()))
	}
	require.Equal(t, beside-3, db.locksBeside(t, pid))

	_, err = foreign.Exec(t.Context(), "select pg_advisory_unlock_all()")
	require.NoError(t, err)
	for i := range 5 {
		take(t, locker, fmt.Sprint("job ", i))
	}
	require.Equal(t, 5, db.locksBeside(t, pid))
}

// takeWhatIsLeft tries that many names. A few may still find room that the error
// of somebody else has left; the others must get the right error.
func takeWhatIsLeft(t testing.TB, locker *postgres.Locker, names int) (granted []relay.Lock) {
	t.Helper()
	for i := range names {
		lock, err := locker.TryAcquire(t.Context(), fmt.Sprint("job ", i))
		if err == nil {
			granted = append(granted, lock)
			continue
		}
		require.ErrorIs(t, err, postgres.ErrLockTableFull)
		require.NotErrorIs(t, err, relay.ErrNotAcquired, "whether it is free is not known")
	}
	return granted
}

// takeAllConnections returns when the server takes no more.
func takeAllConnections(t testing.TB, dsn string) (taken []*pgx.Conn) {
	t.Helper()
	for {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			requireCode(t, "53300", err)
			return taken
		}
		taken = append(taken, conn)
	}
}

func TestEverything_TooManyConnectionsAreNamedAndAFreeOneIsUsed(t *testing.T) {
	db := newServer(t, small...)
	db.migrate(t)
	locker := db.locker(t, postgres.LockerConfig{})
	leases := db.leases(t, postgres.LeaseStoreConfig{})
	registry := db.registry(t, "group", 0)
	others := takeAllConnections(t, db.dsn)
	calls := map[string]func() error{
		"a lock": func() error {
			lock, err := locker.TryAcquire(t.Context(), "job")
			if err != nil {
				return err
			}
			return lock.Release(t.Context())
		},
		"a lease": func() error {
			_, err := leases.TryAcquireOrRenew(t.Context(), "role", "owner", time.Minute)
			return err
		},
		"a heartbeat": func() error { return registry.Heartbeat(t.Context(), "node") },
	}
	for what, call := range calls {
		err := call()
		require.ErrorIs(t, err, postgres.ErrTooManyConnections, what)
		require.NotErrorIs(t, err, relay.ErrNotAcquired, what)
	}
	require.Zero(t, db.sessions(t))

	for _, conn := range others {
		require.NoError(t, conn.Close(t.Context()))
	}
	for what, call := range calls {
		err := call()
		for errors.Is(err, postgres.ErrTooManyConnections) { // those that closed are still leaving
			err = call()
		}
		require.NoError(t, err, what)
	}
	require.NoError(t, locker.Close(t.Context()))
	require.NoError(t, leases.Close(t.Context()))
	require.NoError(t, registry.Close(t.Context()))
	require.Zero(t, db.sessions(t))
	require.Zero(t, db.locks(t))
}
