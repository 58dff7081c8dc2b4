package postgres_test

import (
	"context"
	"regexp"
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

// The server keeps what was prepared, also by a transaction that it refused. A
// new name for each would fill its memory.
func TestLeaseStore_WhatTheServerRefusesIsNotPreparedUnderEverNewNames(t *testing.T) {
	db := newMigratedDatabase(t)
	db.exec(t, "do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$")
	cfg := db.config(t)
	var mu sync.Mutex
	names := make(map[string]bool)
	newSniffer(t, cfg).toServer = func(data []byte) {
		mu.Lock()
		defer mu.Unlock()
		for _, name := range regexp.MustCompile(`relay_\d+`).FindAllString(string(data), -1) {
			names[name] = true
		}
	}
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	for range 50 {
		require.ErrorIs(t, renew(t, store, role), postgres.ErrReadOnly)
	}
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, names)
	require.Less(t, len(names), 10)
}

// gated lets the second opening of a session wait.
func gated(entered, gate chan struct{}) func(context.Context, *pgx.ConnConfig) error {
	var openings atomic.Int32
	return func(context.Context, *pgx.ConnConfig) error {
		if openings.Add(1) == 2 {
			close(entered)
			<-gate
		}
		return nil
	}
}

func TestLeaseStore_ACallThatIsGivenUpWhileASessionIsOpenedAgainIsNeverSent(t *testing.T) {
	db := newMigratedDatabase(t)
	cfg := db.config(t)
	entered, gate := make(chan struct{}), make(chan struct{})
	cfg.BeforeConnect = gated(entered, gate)
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	require.NoError(t, renew(t, store, "another"))
	db.terminateAll(t)
	ctx, cancel := context.WithCancel(t.Context())
	given := async(func() error {
		_, err := store.TryAcquireOrRenew(ctx, role, "owner", time.Hour)
		return err
	})
	stays := async(func() error { return renew(t, store, "stays") })
	<-entered
	cancel()
	require.ErrorIs(t, <-given, context.Canceled)
	close(gate)
	require.NoError(t, <-stays)
	_, err := store.Current(t.Context(), role)
	require.ErrorIs(t, err, relay.ErrNotHeld, "nobody knows of it, and it would stand for its whole TTL")
}

func TestLeaseStore_ACallbackThatEndsItsGoroutineWhileASessionIsOpenedAgainIsAnError(t *testing.T) {
	db := newMigratedDatabase(t)
	cfg := db.config(t)
	var openings atomic.Int32
	cfg.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		if openings.Add(1) == 2 {
			runtime.Goexit()
		}
		return nil
	}
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	require.NoError(t, renew(t, store, role))
	db.terminateAll(t)
	require.ErrorContains(t, renew(t, store, role), "Goexit")
	require.NoError(t, renew(t, store, role))
}

func TestClose_WhatComesAfterItIsErrClosedAndDialsNobody(t *testing.T) {
	db := newMigratedDatabase(t)
	cfg := db.config(t)
	var openings atomic.Int32
	cfg.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		openings.Add(1)
		return nil
	}
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	registry, err := postgres.NewNodeRegistry(cfg, "group", 0, postgres.NodeRegistryConfig{})
	require.NoError(t, err)
	locker := newLocker(t, cfg, postgres.LockerConfig{})
	require.NoError(t, store.Close(t.Context()))
	require.NoError(t, registry.Close(t.Context()))
	require.NoError(t, locker.Close(t.Context()))
	for range 200 { // it was wrong most of the time
		require.ErrorIs(t, store.AdvanceToken(t.Context(), role, 0), relay.ErrClosed)
		require.ErrorIs(t, store.Release(t.Context(), relay.Lease{Role: role, Owner: "owner"}), relay.ErrClosed)
		require.ErrorIs(t, registry.Heartbeat(t.Context(), "node"), relay.ErrClosed)
		_, err := locker.Holders(t.Context(), "job")
		require.ErrorIs(t, err, relay.ErrClosed)
	}
	require.Zero(t, openings.Load())
}

func TestLeaseStore_ReleaseOfATokenThatNobodyGrantsIsErrNotHeld(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	lease := grant(t, store, "owner", time.Hour)
	for _, token := range []relay.Token{0, -1} {
		lease.Token = token
		require.ErrorIs(t, store.Release(t.Context(), lease), relay.ErrNotHeld)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, store.Release(ctx, lease), context.Canceled)
}

// Statements are prepared for the tables as they were.
func TestAdapters_OutliveAChangeOfTheirTables(t *testing.T) {
	db := newMigratedDatabase(t)
	store, registry := db.leases(t, postgres.LeaseStoreConfig{}), db.registry(t, "group", time.Hour)
	use := func() {
		for range 2 {
			require.NoError(t, renew(t, store, role))
			_, err := store.Current(t.Context(), role)
			require.NoError(t, err)
			require.NoError(t, registry.Heartbeat(t.Context(), "node"))
			_, err = registry.LiveNodes(t.Context())
			require.NoError(t, err)
		}
	}
	use()
	db.exec(t, "alter table relay_leases add column note text; alter table relay_nodes add column note text")
	use()
	db.exec(t, "alter table relay_leases alter column owner type varchar(300); alter table relay_nodes alter column node type varchar(300)")
	use()
	db.exec(t, "drop table relay_leases")
	require.ErrorIs(t, renew(t, store, role), postgres.ErrNoTables)
	require.NoError(t, postgres.Migrate(t.Context(), db.pool))
	use()
}

// Its listener may be just about to park, until the next ping in 10 s.
func TestLeaseStore_CloseFindsTheListenerWhateverItDoes(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	require.NoError(t, renew(t, db.leases(t, postgres.LeaseStoreConfig{}), role))
	for n := range 100 {
		store := db.leases(t, postgres.LeaseStoreConfig{})
		waiting := async(func() error { return store.WaitReleased(t.Context(), role) })
		for open := time.Now().Add(time.Duration(n) * 100 * time.Microsecond); time.Now().Before(open); {
			runtime.Gosched()
		}
		began := time.Now()
		require.NoError(t, store.Close(t.Context()))
		require.Less(t, time.Since(began), 5*time.Second)
		require.ErrorIs(t, <-waiting, relay.ErrClosed)
	}
}
