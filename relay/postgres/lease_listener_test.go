package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// await starts a wait for the release of a role and returns when it has been
// registered with the server.
func (d *database) await(t testing.TB, store *postgres.LeaseStore, role string) <-chan error {
	t.Helper()
	woken := async(func() error { return store.WaitReleased(t.Context(), role) })
	for d.locks(t) != 1 {
		require.NoError(t, t.Context().Err())
		select {
		case err := <-woken:
			require.FailNow(t, "it did not wait", "%v", err)
		default:
		}
	}
	return woken
}

// awaitLocks returns once this database has so many advisory locks.
func (d *database) awaitLocks(t testing.TB, n int) {
	t.Helper()
	for d.locks(t) != n {
		require.NoError(t, t.Context().Err())
	}
}

// listen returns a session that hears every release.
func (d *database) listen(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), d.config(t).ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	_, err = conn.Exec(t.Context(), "listen relay")
	require.NoError(t, err)
	return conn
}

func TestLeaseStore_AReleaseNotifiesOnlyIfSomebodyWaits(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	store, waits := db.leases(t, postgres.LeaseStoreConfig{}), db.leases(t, postgres.LeaseStoreConfig{})
	heard := db.listen(t)
	lease := grant(t, store, "owner", time.Hour)
	require.NoError(t, store.Release(t.Context(), lease))

	lease = grant(t, store, "owner", time.Hour)
	woken := db.await(t, waits, role)
	stale := lease
	stale.Token++
	require.ErrorIs(t, store.Release(t.Context(), stale), relay.ErrNotHeld)
	require.NoError(t, store.Release(t.Context(), lease))
	require.NoError(t, <-woken)
	db.exec(t, "select pg_notify('relay', 'the end')")
	for _, want := range []string{"lease:role", "the end"} {
		n, err := heard.WaitForNotification(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, n.Payload, "once, and by the release that somebody waited for")
	}
}

func TestLeaseStore_TheListenersSessionEndsWithItsLastWaiter(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	lease := grant(t, store, "owner", time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	var waits sync.WaitGroup
	for i := range 100 { // of one role and of others
		held := role
		if i%2 == 0 {
			held = fmt.Sprint("role ", i)
			_, err := store.TryAcquireOrRenew(t.Context(), held, "owner", time.Hour)
			require.NoError(t, err)
		}
		waits.Go(func() {
			if err := store.WaitReleased(ctx, held); !errors.Is(err, context.Canceled) {
				t.Errorf("a wait that was cancelled: %v", err)
			}
		})
	}
	db.awaitLocks(t, 51)
	require.Equal(t, 2, db.sessions(t), "one for all who wait")
	cancel()
	waits.Wait()
	db.awaitLocks(t, 0)
	db.awaitOpen(t, 1)

	woken := db.await(t, store, role) // and begins again
	require.NoError(t, store.Release(t.Context(), lease))
	require.NoError(t, <-woken)
	require.NoError(t, store.Close(t.Context()))
	require.Zero(t, db.sessions(t))
	awaitNoGoroutines(t)
}

func TestLeaseStore_AWaiterWhoseSessionDiesSaysSoAndTheNextWaitsOnANewOne(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	var told atomic.Int32
	store := db.leases(t, postgres.LeaseStoreConfig{Observer: func(relay.Event) { told.Add(1) }})
	lease := grant(t, store, "owner", time.Hour)
	for range 3 {
		woken := db.await(t, store, role)
		db.terminate(t, query[int](t, db, "select pid from pg_locks where locktype = 'advisory'"+
			" and database = (select oid from pg_database where datname = current_database())"))
		require.ErrorContains(t, <-woken, "57P01")
		db.awaitLocks(t, 0) // it says so while it dies
	}
	for told.Load() != 3 { // beside everything else
		require.NoError(t, t.Context().Err())
		runtime.Gosched()
	}
	woken := db.await(t, store, role)
	require.NoError(t, store.Release(t.Context(), lease))
	require.NoError(t, <-woken)
}

// Each wait would take minutes if its wake-up were lost: nothing lapses.
func TestLeaseStore_NoWakeUpIsLost(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	cfg := postgres.LeaseStoreConfig{RequestTimeout: time.Minute}
	stores := []*postgres.LeaseStore{db.leases(t, cfg), db.leases(t, cfg)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const roles, rounds = 8, 40
	var all sync.WaitGroup
	for i := range roles {
		all.Go(func() {
			role := fmt.Sprint("role ", i)
			for n := range rounds {
				holder, waits := stores[n%2], stores[(n+1+n/2)%2]
				lease, err := holder.TryAcquireOrRenew(ctx, role, "owner", time.Hour)
				if err != nil {
					t.Errorf("take: %v", err)
					return
				}
				var woken sync.WaitGroup
				for range 3 {
					woken.Go(func() {
						if err := waits.WaitReleased(ctx, role); err != nil {
							t.Errorf("a wake-up of %s was lost: %v", role, err)
						}
					})
				}
				if n%4 == 0 {
					// Let the waits begin before the release; else they race with it.
					_, _ = waits.Current(ctx, role)
				}
				if err := holder.Release(ctx, lease); err != nil {
					t.Errorf("release: %v", err)
				}
				woken.Wait()
			}
		})
	}
	all.Wait()
}

// The release of another process is just being committed: it has found nobody to
// notify, and keeps the waiter from registering.
func TestLeaseStore_AWaiterThatCouldNotRegisterTriesAgain(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	grant(t, store, "owner", time.Hour)
	const wait, low = 0x57414954 << 32, 1<<32 - 1 // "WAIT"
	release := db.begin(t, pgx.TxOptions{})
	_, err := release.Exec(t.Context(), "select pg_advisory_xact_lock($1)", int64(wait|postgres.LockKey("lease:role")&low))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	woken := async(func() error { return store.WaitReleased(ctx, role) })
	for query[int](t, db, `select count(*) from pg_stat_activity where datname = current_database()
		and state = 'idle' and query like '%select role from relay_leases%clock_timestamp()'`) == 0 {
		require.NoError(t, t.Context().Err())
	}
	_, err = release.Exec(t.Context(), "update relay_leases set expires_at = clock_timestamp()")
	require.NoError(t, err)
	require.NoError(t, release.Commit(t.Context()))
	require.NoError(t, <-woken)
}

// pg_notify is a function of the test's own: what it does at the commit waits
// for a lock that somebody else holds, like the commit of a NOTIFY behind that
// of another session.
func TestLeaseStore_ANotificationThatIsRefusedCostsAWakeUpAndNoRelease(t *testing.T) {
	all := newDatabase(t)
	for where, sql := range map[string]string{
		"at the commit": `create constraint trigger wait after insert on notices deferrable initially deferred
			for each row execute function wait()`,
		"before it": `create trigger wait before insert on notices for each row execute function wait()`,
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			db := all.schema(t)
			db.exec(t, `create table notices (payload text);
				create function wait() returns trigger language plpgsql as $$ begin
					perform pg_advisory_xact_lock(hashtext(current_schema())); return new; end $$;
				create function pg_notify(text, text) returns void language sql as $$ insert into notices values ($2) $$;`+sql)
			blocker := db.begin(t, pgx.TxOptions{})
			_, err := blocker.Exec(t.Context(), "select pg_advisory_xact_lock(hashtext(current_schema()))")
			require.NoError(t, err)

			cfg := db.config(t)
			cfg.ConnConfig.RuntimeParams["search_path"] += ", pg_catalog" // after the schema: ours comes first
			store := newLeases(t, cfg, postgres.LeaseStoreConfig{RequestTimeout: 4 * time.Second})
			lease := grant(t, store, "owner", time.Hour)
			wait, cancel := context.WithCancel(t.Context())
			woken := async(func() error { return store.WaitReleased(wait, role) })
			for query[int](t, db, `select count(*) from pg_locks where locktype = 'advisory' and mode = 'ShareLock'
				and classid = 1463896404`) == 0 { // "WAIT"
				require.NoError(t, t.Context().Err())
			}
			require.NoError(t, store.Release(t.Context(), lease))
			_, err = store.Current(t.Context(), role)
			require.ErrorIs(t, err, relay.ErrNotHeld, "it was released")
			require.Zero(t, query[int](t, db, "select count(*) from notices"))
			cancel()
			require.ErrorIs(t, <-woken, context.Canceled)
			require.NoError(t, blocker.Rollback(t.Context()))
		})
	}
}

func TestLeaseStore_WaitingIsRefusedWhereNobodyCanListen(t *testing.T) {
	db := newMigratedDatabase(t)
	lease := grant(t, db.leases(t, postgres.LeaseStoreConfig{}), "owner", time.Hour)
	standby := newLeases(t, db.pretendStandby(t), postgres.LeaseStoreConfig{})
	require.ErrorIs(t, standby.WaitReleased(t.Context(), role), postgres.ErrReadOnly)
	got, err := standby.Current(t.Context(), role)
	require.NoError(t, err)
	require.Equal(t, lease, got)

	all := db.schema(t) // without tables further down its path
	all.exec(t, "drop table relay_leases")
	missing := all.leases(t, postgres.LeaseStoreConfig{})
	require.ErrorIs(t, missing.WaitReleased(t.Context(), role), postgres.ErrNoTables)
	require.Zero(t, db.locks(t))
}

func TestLeaseStore_AServerThatCannotBeReachedIsNotDialledForEachWaiter(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	var dials atomic.Int32
	cfg.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, errors.New("no way")
	}
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	for range 200 {
		require.ErrorContains(t, store.WaitReleased(t.Context(), role), "no way")
	}
	require.LessOrEqual(t, dials.Load(), int32(4), "an opening that failed stands for the next ones, for a while")
}
