package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

const role = "role"

func grant(t testing.TB, s *postgres.LeaseStore, owner string, ttl time.Duration) relay.Lease {
	t.Helper()
	lease, err := s.TryAcquireOrRenew(t.Context(), role, owner, ttl)
	require.NoError(t, err)
	return lease
}

// The settings of the transaction are read inside it, by a trigger.
func TestLeaseStore_EachChangeIsCommittedSynchronouslyWhateverTheDefaults(t *testing.T) {
	db := newMigratedDatabase(t)
	db.exec(t, `create table seen (durable text, isolation text, timeout text, locks text);
		create function see() returns trigger language plpgsql as $$ begin
			insert into seen values (current_setting('synchronous_commit'), current_setting('transaction_isolation'),
				current_setting('statement_timeout'), current_setting('lock_timeout'));
			return new;
		end $$;
		create trigger see before insert or update on relay_leases for each row execute function see()`)
	cfg := db.config(t)
	for setting, value := range map[string]string{
		"synchronous_commit": "off", "default_transaction_isolation": "serializable",
		"statement_timeout": "1h", "lock_timeout": "1h",
	} {
		cfg.ConnConfig.RuntimeParams[setting] = value
	}
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{RequestTimeout: 10 * time.Second})
	lease := grant(t, store, "owner", time.Minute)
	grant(t, store, "owner", time.Minute)
	require.NoError(t, store.Release(t.Context(), lease))
	require.NoError(t, store.AdvanceToken(t.Context(), role, 40))

	require.GreaterOrEqual(t, query[int](t, db, "select count(*) from seen"), 4)
	require.Equal(t, "on read committed", query[string](t, db,
		"select string_agg(distinct durable || ' ' || isolation, ', ') from seen"),
		"a crash of the server must not forget a token that was handed out")
	require.Zero(t, query[int](t, db, `select count(*) from seen
		where timeout::interval not between '6s' and '7.5s'`), "three quarters of RequestTimeout")
	require.Zero(t, query[int](t, db, `select count(*) from seen
		where locks::interval not between '2s' and '2.5s'`), "a quarter: others wait behind whoever waits for a row")
	require.Equal(t, "p", query[string](t, db, "select relpersistence::text from pg_class where relname = 'relay_leases'"),
		"an UNLOGGED table would forget its tokens in a crash")
}

func TestLeaseStore_TheRowAndItsTokenSurviveTheRelease(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	for want := range relay.Token(3) {
		lease := grant(t, store, "owner", time.Minute)
		require.Equal(t, want+1, lease.Token, "tokens go on where they were")
		require.NoError(t, store.Release(t.Context(), lease))
		require.ErrorIs(t, store.Release(t.Context(), lease), relay.ErrNotHeld)
	}
	require.Equal(t, 1, query[int](t, db, "select count(*) from relay_leases"))
}

func TestLeaseStore_AServerThatStopsWaitingSaysSoAndNothingHappensLater(t *testing.T) {
	for why, limit := range map[string]struct{ request, caller time.Duration }{
		"RequestTimeout is short":         {3 * time.Second, time.Hour},
		"the caller's deadline is nearer": {time.Hour, 3 * time.Second},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			db := newMigratedDatabase(t)
			store := db.leases(t, postgres.LeaseStoreConfig{RequestTimeout: limit.request})
			lease := grant(t, store, "owner", time.Minute)
			blocker := db.begin(t, pgx.TxOptions{})
			_, err := blocker.Exec(t.Context(), "select from relay_leases for update")
			require.NoError(t, err)

			ctx, cancel := context.WithTimeout(t.Context(), limit.caller)
			defer cancel()
			_, err = store.TryAcquireOrRenew(ctx, role, "owner", time.Minute)
			var refused *pgconn.PgError
			require.ErrorAs(t, err, &refused, "the server gives up first, or it would go on after its caller has gone")
			require.Equal(t, "55P03", refused.Code)

			require.NoError(t, blocker.Rollback(t.Context()))
			require.Equal(t, 1, db.sessions(t), "the session was rolled back and is used again")
			require.NoError(t, store.Release(t.Context(), lease))
			_, err = store.Current(t.Context(), role)
			require.ErrorIs(t, err, relay.ErrNotHeld, "the renewal came back after the release")
		})
	}
}

func TestLeaseStore_TheTTLCountsFromAfterTheWaitForTheRow(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
	grant(t, store, "owner", 300*time.Millisecond)
	blocker := db.begin(t, pgx.TxOptions{})
	_, err := blocker.Exec(t.Context(), "select from relay_leases for update")
	require.NoError(t, err)
	type result struct {
		lease relay.Lease
		err   error
	}
	waiting := async(func() result {
		lease, err := store.TryAcquireOrRenew(t.Context(), role, "owner", 500*time.Millisecond)
		return result{lease, err}
	})
	db.awaitBlocked(t)
	db.sleep(t, 600*time.Millisecond) // meanwhile the first lease lapses, and a TTL passes
	var unblocked time.Time
	require.NoError(t, blocker.QueryRow(t.Context(), "select clock_timestamp()").Scan(&unblocked))
	require.NoError(t, blocker.Rollback(t.Context()))

	got := <-waiting
	require.NoError(t, got.err)
	require.Equal(t, relay.Token(2), got.lease.Token,
		"whether a lease is live is asked after its row was locked: it had lapsed by then")
	require.False(t, got.lease.ExpiresAt.Before(unblocked.Add(500*time.Millisecond).Truncate(time.Microsecond)),
		"a lease that was waited for is as long as any")
}

// The statement reads the clock more than once, and the lease can lapse, or the
// clock be set, between two readings. Here it happens every time.
func TestLeaseStore_AClockThatMovesWhileTheStatementRunsMakesNoTokenWrong(t *testing.T) {
	all := newDatabase(t)
	for why, c := range map[string]struct {
		first, then string // the readings up to the test of the locked row, and after
		readings    int    // how many those are: two are for a new row
		owner       string
		token, want relay.Token
	}{
		"it lapsed, and the clock is set back":           {"2030-01-01", "2029-01-01", 4, "another", 7, 8},
		"it was live at the last token, and then lapses": {"2029-01-01", "2030-01-01", 3, "owner", relay.MaxToken, relay.MaxToken},
	} {
		t.Run(why, func(t *testing.T) {
			db := all.schema(t)
			db.exec(t, `insert into relay_leases values ('role', 'owner', $1, 'epoch', '2029-06-01', '1 h')`, c.token)
			db.exec(t, `create sequence readings`)
			db.exec(t, `create function clock_timestamp() returns timestamptz language sql as
				$$ select case when nextval('readings') <= `+fmt.Sprint(c.readings)+` then '`+c.first+`' else '`+c.then+`' end::timestamptz $$`)
			cfg := db.config(t)
			cfg.ConnConfig.RuntimeParams["search_path"] += ", pg_catalog" // after the schema: ours comes first
			lease := grant(t, newLeases(t, cfg, postgres.LeaseStoreConfig{}), c.owner, time.Minute)
			require.Equal(t, c.want, lease.Token, "a token belongs to one owner")
		})
	}
}

func TestLeaseStore_ContendersDoNotFailUnderASerializableDefault(t *testing.T) {
	db := newMigratedDatabase(t)
	cfg := db.config(t)
	cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	stores := []*postgres.LeaseStore{
		newLeases(t, cfg, postgres.LeaseStoreConfig{}), newLeases(t, cfg, postgres.LeaseStoreConfig{}),
	}
	var calls sync.WaitGroup
	for i := range 4 {
		calls.Go(func() {
			for range 25 {
				lease, err := stores[i%2].TryAcquireOrRenew(t.Context(), role, string(rune('a'+i)), time.Minute)
				if err == nil {
					err = stores[i%2].Release(t.Context(), lease)
				}
				if err != nil && !errors.Is(err, relay.ErrNotAcquired) {
					t.Errorf("a contender failed: %v", err)
				}
			}
		})
	}
	calls.Wait()
}

func TestLeaseStore_UsesTwoSessionsAtMostAndFindsNewOnes(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	renewAll := func() {
		var calls sync.WaitGroup
		for i := range 10 {
			calls.Go(func() {
				if _, err := store.TryAcquireOrRenew(t.Context(), string(rune('a'+i)), "owner", time.Minute); err != nil {
					t.Errorf("renewal: %v", err)
				}
			})
		}
		calls.Wait()
	}
	renewAll()
	require.LessOrEqual(t, db.sessions(t), 2)

	db.exec(t, `select pg_terminate_backend(pid, 5000) from pg_stat_activity
		where datname = current_database() and application_name = 'relay'`)
	db.sleep(t, 1100*time.Millisecond)
	renewAll() // a session that has rested is asked whether it is there
	require.NoError(t, store.Close(t.Context()))
	require.Zero(t, db.sessions(t))
	awaitNoGoroutines(t)
}

func TestLeaseStore_ACancelledCallLeavesNoSessionBehind(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	grant(t, store, "owner", time.Minute)
	blocker := db.begin(t, pgx.TxOptions{})
	_, err := blocker.Exec(t.Context(), "select from relay_leases for update")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := async(func() error {
		_, err := store.TryAcquireOrRenew(ctx, role, "owner", time.Minute)
		return err
	})
	db.awaitBlocked(t)
	cancel()
	require.ErrorIs(t, <-waiting, context.Canceled)
	require.NoError(t, blocker.Rollback(t.Context()))
	grant(t, store, "owner", time.Minute)
	require.NoError(t, store.Close(t.Context()))
	awaitNoGoroutines(t)
}

func TestLeaseStore_ALiveHolderAtTheLastTokenRenewsAndNobodyElseIsGranted(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	require.NoError(t, store.AdvanceToken(t.Context(), role, relay.MaxToken-1))
	lease := grant(t, store, "owner", time.Minute)
	require.Equal(t, relay.MaxToken, lease.Token)
	require.Equal(t, relay.MaxToken, grant(t, store, "owner", time.Minute).Token, "an extension needs no new token")

	var held *relay.HeldError
	_, err := store.TryAcquireOrRenew(t.Context(), role, "another", time.Minute)
	require.ErrorAs(t, err, &held)
	require.Equal(t, "owner", held.Lease.Owner)

	require.NoError(t, store.Release(t.Context(), lease))
	before := query[string](t, db, "select relay_leases::text from relay_leases")
	for _, owner := range []string{"owner", "another"} {
		_, err := store.TryAcquireOrRenew(t.Context(), role, owner, time.Minute)
		require.ErrorIs(t, err, relay.ErrTokensExhausted)
		require.NotErrorIs(t, err, relay.ErrNotAcquired)
	}
	require.Equal(t, before, query[string](t, db, "select relay_leases::text from relay_leases"))
}

// A candidate does not know that it was granted the role, and takes its
// renewal for the grant.
func TestLeaseStore_AnAdvanceReachesAGrantWhoseReplyWasLost(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	granting := false
	network.toServer = func(data []byte) { granting = granting || bytes.Contains(data, []byte("insert into relay_leases")) }
	network.toClient = func([]byte) {
		if granting {
			network.freeze()
		}
	}
	cut := newLeases(t, cfg, postgres.LeaseStoreConfig{RequestTimeout: 500 * time.Millisecond})
	_, err := cut.TryAcquireOrRenew(t.Context(), role, "nonce", time.Hour)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	store := db.leases(t, postgres.LeaseStoreConfig{})
	for current := (relay.Lease{}); current.Token == 0; { // it may arrive late
		current, err = store.Current(t.Context(), role)
		if err != nil {
			require.ErrorIs(t, err, relay.ErrNotHeld)
		}
	}
	require.NoError(t, store.AdvanceToken(t.Context(), role, 40))
	lease := grant(t, store, "nonce", time.Hour)
	require.Greater(t, lease.Token, relay.Token(40), "it leads now, and the resource may have seen 40")
	require.Equal(t, lease.Token, grant(t, store, "nonce", time.Hour).Token)
}

func TestLeaseStore_AnAdvanceRaisesALiveLeaseByOneMoreThanALapsedOne(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	require.NoError(t, store.AdvanceToken(t.Context(), role, 40))
	lease := grant(t, store, "owner", time.Hour)
	require.Equal(t, relay.Token(41), lease.Token, "nobody held it")
	for range 2 {
		require.NoError(t, store.AdvanceToken(t.Context(), role, 50))
		require.Equal(t, relay.Token(51), grant(t, store, "owner", time.Hour).Token, "again is nothing new")
	}
	require.NoError(t, store.AdvanceToken(t.Context(), role, relay.MaxToken))
	require.Equal(t, relay.MaxToken, grant(t, store, "owner", time.Hour).Token, "there is none above")
}

// A name is what it is in UTF-8, and a time what the server's clock says,
// whatever the database or the connection string sets.
func TestLeaseStore_NoSettingOfTheSessionReachesItsAnswers(t *testing.T) {
	db := newMigratedDatabase(t)
	const name = `冬/Büro\'x`
	lease, err := db.leases(t, postgres.LeaseStoreConfig{}).TryAcquireOrRenew(t.Context(), name, "Zoë", time.Hour)
	require.NoError(t, err)
	beats := db.registry(t, "Büro", time.Hour)
	require.NoError(t, beats.Heartbeat(t.Context(), "Öl"))
	cfg := db.strangeConfig(t)
	strange := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	got, err := strange.Current(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, lease, got)
	var held *relay.HeldError
	_, err = strange.TryAcquireOrRenew(t.Context(), name, "Zoé", time.Hour)
	require.ErrorAs(t, err, &held, "two encodings must not make two roles of one")
	require.Equal(t, lease, held.Lease)
	require.NoError(t, strange.Release(t.Context(), lease))
	got, err = strange.TryAcquireOrRenew(t.Context(), name, "Zoé", time.Hour)
	require.NoError(t, err)
	require.Equal(t, "Zoé", got.Owner)
	require.InDelta(t, time.Hour, got.ExpiresAt.Sub(query[time.Time](t, db, "select clock_timestamp()")), float64(10*time.Minute))

	registry, err := postgres.NewNodeRegistry(cfg, "Büro", time.Hour, postgres.NodeRegistryConfig{})
	require.NoError(t, err)
	defer registry.Close(context.WithoutCancel(t.Context()))
	require.NoError(t, registry.Heartbeat(t.Context(), "冬"))
	for _, r := range []*postgres.NodeRegistry{registry, beats} {
		nodes, err := r.LiveNodes(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"Öl", "冬"}, nodes)
	}

	require.NoError(t, take(t, newLocker(t, cfg, postgres.LockerConfig{}), name).Release(t.Context()))
}

// strangeConfig is one with everything set that could matter and must not. From
// now on the database of the test has a client_encoding of its own, which counts
// for new sessions.
func (d *database) strangeConfig(t testing.TB) *pgxpool.Config {
	t.Helper()
	d.exec(t, "do $$ begin execute format('alter database %I set client_encoding = latin1', current_database()); end $$")
	cfg := d.config(t)
	for setting, value := range map[string]string{
		"DateStyle": "German", "IntervalStyle": "sql_standard", "TimeZone": "Asia/Kathmandu", "bytea_output": "escape",
		"standard_conforming_strings": "off", "backslash_quote": "on", "transform_null_equals": "on",
		"row_security": "off", "synchronous_commit": "off", "extra_float_digits": "-15",
		"default_transaction_isolation": "serializable", "default_transaction_deferrable": "on",
	} {
		cfg.ConnConfig.RuntimeParams[setting] = value
	}
	return cfg
}

func TestNewLeaseStore_RefusesATimeoutOutOfRange(t *testing.T) {
	cfg, err := pgxpool.ParseConfig("postgres://localhost/db")
	require.NoError(t, err)
	for want, timeout := range map[string]time.Duration{
		"RequestTimeout -1ns is negative":          -1,
		"RequestTimeout 1h0m0.000000001s > 1h0m0s": time.Hour + 1,
	} {
		_, err = postgres.NewLeaseStore(cfg, postgres.LeaseStoreConfig{RequestTimeout: timeout})
		require.ErrorContains(t, err, want)
		_, err = postgres.NewNodeRegistry(cfg, "group", 0, postgres.NodeRegistryConfig{RequestTimeout: timeout})
		require.ErrorContains(t, err, want)
	}
}
