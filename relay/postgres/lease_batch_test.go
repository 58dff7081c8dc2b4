package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// lockRow keeps a role's row locked, until the transaction ends.
func (d *database) lockRow(t testing.TB, role string) pgx.Tx {
	t.Helper()
	tx := d.begin(t, pgx.TxOptions{})
	_, err := tx.Exec(t.Context(), "select from relay_leases where role = $1 for update", role)
	require.NoError(t, err)
	return tx
}

// together makes n calls arrive while the store is busy, so that they wait for
// it all at once, and returns what each returned.
func (d *database) together(t testing.TB, store *postgres.LeaseStore, n int, call func(i int) error) []error {
	t.Helper()
	const busy = "busy"
	renew := func() error {
		_, err := store.TryAcquireOrRenew(t.Context(), busy, "owner", time.Hour)
		return err
	}
	require.NoError(t, renew())
	row := d.lockRow(t, busy)
	renewed := async(renew)
	d.awaitBlocked(t)
	errs := make([]error, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { errs[i] = call(i) })
	}
	awaitQueued(t, n+1)
	require.NoError(t, row.Rollback(t.Context()))
	require.NoError(t, <-renewed)
	calls.Wait()
	return errs
}

// awaitQueued returns once n calls of stores wait for their answers.
func awaitQueued(t testing.TB, n int) {
	t.Helper()
	for stacks := make([]byte, 4<<20); bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("(*leaseQueue).do(")) < n; {
		require.NoError(t, t.Context().Err())
		runtime.Gosched()
	}
}

func renew(t testing.TB, store *postgres.LeaseStore, role string) error {
	_, err := store.TryAcquireOrRenew(t.Context(), role, "owner", time.Hour)
	return err
}

// flushes counts what goes to the server and contains text.
func flushes(t testing.TB, db *database, text string, cfg postgres.LeaseStoreConfig) (*postgres.LeaseStore, *atomic.Int32) {
	t.Helper()
	pool := db.config(t)
	var n atomic.Int32
	newSniffer(t, pool).toServer = func(data []byte) {
		if bytes.Contains(data, []byte(text)) {
			n.Add(1)
		}
	}
	return newLeases(t, pool, cfg), &n
}

func TestLeaseStore_ConcurrentCallsShareARoundTripAndACommit(t *testing.T) {
	db := newMigratedDatabase(t)
	store, sent := flushes(t, db, "begin isolation", postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
	const n = 200
	call := func(i int) error { return renew(t, store, fmt.Sprint("role ", i)) }
	for _, what := range []string{"grants", "renewals"} {
		sent.Store(0)
		for _, err := range db.together(t, store, n, call) {
			require.NoError(t, err)
		}
		require.EqualValues(t, 3, sent.Load(), "%s: two of them keep the store busy", what)
	}
	require.Equal(t, 1, query[int](t, db, "select count(distinct xmin::text) from relay_leases where role like 'role%'"),
		"one transaction has written them all")
	require.Equal(t, 1, db.sessions(t))
}

func TestLeaseStore_ABatchTellsEachCallItsOwnAnswer(t *testing.T) {
	db := newMigratedDatabase(t)
	store, other := db.leases(t, postgres.LeaseStoreConfig{RequestTimeout: time.Minute}), db.leases(t, postgres.LeaseStoreConfig{})
	take := func(store *postgres.LeaseStore, role, owner string) relay.Lease {
		lease, err := store.TryAcquireOrRenew(t.Context(), role, owner, time.Hour)
		require.NoError(t, err)
		return lease
	}
	held, another := take(other, "held", "another"), take(other, "another's", "another")
	mine, ends := take(store, "mine", "owner"), take(store, "ends", "owner")
	require.NoError(t, store.AdvanceToken(t.Context(), "exhausted", relay.MaxToken))
	stale := held
	stale.Token++
	try := func(role string, ttl time.Duration) (relay.Lease, error) {
		return store.TryAcquireOrRenew(t.Context(), role, "owner", ttl)
	}
	calls := []func() (relay.Lease, error){
		func() (relay.Lease, error) { return try("held", time.Hour) },
		func() (relay.Lease, error) { return try("exhausted", time.Hour) },
		func() (relay.Lease, error) { return try("mine", 2*time.Hour) },
		func() (relay.Lease, error) { return try(`new "}\`, time.Minute) },
		func() (relay.Lease, error) { return ends, store.Release(t.Context(), ends) },
		func() (relay.Lease, error) { return stale, store.Release(t.Context(), stale) },
		func() (relay.Lease, error) { return store.Current(t.Context(), "another's") },
		func() (relay.Lease, error) { return store.Current(t.Context(), "nobody's") },
	}
	leases := make([]relay.Lease, len(calls))
	errs := db.together(t, store, len(calls), func(i int) (err error) {
		leases[i], err = calls[i]()
		return err
	})
	var refused *relay.HeldError
	require.ErrorAs(t, errs[0], &refused)
	require.Equal(t, held, refused.Lease)
	require.ErrorIs(t, errs[1], relay.ErrTokensExhausted)
	require.NotErrorIs(t, errs[1], relay.ErrNotAcquired)
	require.NoError(t, errs[2])
	require.Equal(t, mine.Token, leases[2].Token)
	require.Greater(t, leases[2].ExpiresAt.Sub(mine.ExpiresAt), 30*time.Minute, "each has a TTL of its own")
	require.NoError(t, errs[3])
	require.Equal(t, relay.Token(1), leases[3].Token)
	require.NoError(t, errs[4])
	require.ErrorIs(t, errs[5], relay.ErrNotHeld)
	require.NoError(t, errs[6])
	require.Equal(t, another, leases[6])
	require.ErrorIs(t, errs[7], relay.ErrNotHeld)
	require.Equal(t, 1, query[int](t, db, `select count(distinct xmin::text) from relay_leases
		where role in ('mine', 'ends') or role like 'new%'`), "one transaction has written them all")
}

func TestLeaseStore_AFailingMemberOfABatchFailsAlone(t *testing.T) {
	db := newMigratedDatabase(t)
	db.exec(t, `create function fail() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$;
		create trigger fail before insert on relay_leases for each row when (new.role = 'role 7') execute function fail();
		create function fail_late() returns trigger language plpgsql as $$ begin raise 'nor this one'; end $$;
		create constraint trigger late after insert on relay_leases deferrable initially deferred
			for each row when (new.role = 'role 9') execute function fail_late()`)
	store := db.leases(t, postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
	errs := db.together(t, store, 50, func(i int) error { return renew(t, store, fmt.Sprint("role ", i)) })
	for i, err := range errs {
		switch i {
		case 7:
			require.ErrorContains(t, err, "not this one")
		case 9:
			require.ErrorContains(t, err, "nor this one")
		default:
			require.NoError(t, err)
		}
	}
	require.Equal(t, 48, query[int](t, db, "select count(*) from relay_leases where role like 'role%'"))
	require.Equal(t, 1, db.sessions(t))
}

func TestLeaseStore_RowsThatSomebodyKeepsLockedFailAloneAndNothingHappensLater(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	const timeout = 6 * time.Second
	store := db.leases(t, postgres.LeaseStoreConfig{RequestTimeout: timeout})
	locked := func(i int) bool { return i%4 == 3 }
	row := db.begin(t, pgx.TxOptions{})
	var roles []string
	for i := range 51 {
		if locked(i) {
			roles = append(roles, fmt.Sprint("role ", i))
			require.NoError(t, renew(t, store, fmt.Sprint("role ", i)))
		}
	}
	const state = "select string_agg(relay_leases::text, ' ' order by role) from relay_leases where role = any($1)"
	before := query[string](t, db, state, roles)
	_, err := row.Exec(t.Context(), "select from relay_leases for update")
	require.NoError(t, err)
	errs := db.together(t, store, 51, func(i int) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		_, err := store.TryAcquireOrRenew(ctx, fmt.Sprint("role ", i), "owner", time.Hour)
		return err
	})
	for i, err := range errs {
		if !locked(i) {
			require.NoError(t, err, "its neighbour's row is locked, not its own")
			continue
		}
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, "the server gives up before the client does")
		require.Equal(t, "55P03", refused.Code)
	}
	require.NoError(t, row.Rollback(t.Context()))
	require.NoError(t, renew(t, store, "role 8"))
	require.Equal(t, before, query[string](t, db, state, roles), "the renewal came true after its caller was told that it had failed")
}

func TestLeaseStore_ACallerInAHurryDoesNotFailTheOthers(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
	db.exec(t, `create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.1); return new; end $$;
		create trigger slow before insert on relay_leases for each row when (new.role like 'role%') execute function slow()`)
	hurried := func(i int) bool { return i%10 == 0 }
	errs := db.together(t, store, 40, func(i int) error {
		ctx := t.Context()
		if hurried(i) { // less than the others' rows take
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Second)
			defer cancel()
		}
		_, err := store.TryAcquireOrRenew(ctx, fmt.Sprint("role ", i), "owner", time.Hour)
		return err
	})
	for i, err := range errs {
		if !hurried(i) {
			require.NoError(t, err)
		}
	}
}

func TestLeaseStore_ACallThatIsGivenUpBeforeItsBatchIsNeverSent(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, renew(t, store, "busy"))
	row := db.lockRow(t, "busy")
	renewed := async(func() error { return renew(t, store, "busy") })
	db.awaitBlocked(t)
	waiting := async(func() error {
		_, err := store.TryAcquireOrRenew(ctx, "given up", "owner", time.Hour)
		return err
	})
	awaitQueued(t, 2)
	cancel()
	require.ErrorIs(t, <-waiting, context.Canceled)
	require.NoError(t, row.Rollback(t.Context()))
	require.NoError(t, <-renewed, "nobody's context cuts what others wait for")
	require.NoError(t, renew(t, store, "next"))
	require.Zero(t, query[int](t, db, "select count(*) from relay_leases where role = 'given up'"))
}

// awaitAllBlocked returns once n sessions of this database wait for locks.
func (d *database) awaitAllBlocked(t testing.TB, n int) {
	t.Helper()
	for query[int](t, d, `select count(*) from pg_stat_activity
		where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`) < n {
		require.NoError(t, t.Context().Err())
	}
}

// Two batches have the same rows, one from the last to the first. Both come as
// far as the one in the middle: now each has locked what the other needs, unless
// both have begun with the same row.
func TestLeaseStore_BatchesLockRowsInOneOrder(t *testing.T) {
	db := newMigratedDatabase(t)
	cfg := db.config(t) // with a plan that leaves the rows in the order of the calls
	cfg.ConnConfig.RuntimeParams["enable_hashjoin"], cfg.ConnConfig.RuntimeParams["enable_mergejoin"] = "off", "off"
	newStore := func() *postgres.LeaseStore {
		return newLeases(t, cfg, postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
	}
	batches := []struct {
		store *postgres.LeaseStore
		busy  string
		roles []string
	}{
		{newStore(), "busy", []string{"a", "m", "z"}},
		{newStore(), "busy too", []string{"z", "m", "a"}},
	}
	answers := make(chan error, 8)
	n := 0
	call := func(store *postgres.LeaseStore, role string) {
		go func() { answers <- renew(t, store, role) }()
		n++
		awaitQueued(t, n)
	}
	var rows []pgx.Tx
	for _, b := range batches {
		for _, role := range append(b.roles, b.busy) {
			require.NoError(t, renew(t, b.store, role))
		}
		rows = append(rows, db.lockRow(t, b.busy))
	}
	for i, b := range batches {
		call(b.store, b.busy)
		db.awaitAllBlocked(t, i+1)
		for _, role := range b.roles {
			call(b.store, role)
		}
	}
	rows = append(rows, db.lockRow(t, "m"))
	require.NoError(t, rows[0].Rollback(t.Context()))
	require.NoError(t, rows[1].Rollback(t.Context()))
	require.NoError(t, <-answers)
	require.NoError(t, <-answers)
	db.awaitAllBlocked(t, 2)
	require.NoError(t, rows[2].Rollback(t.Context()))
	for range n - 2 {
		require.NoError(t, <-answers)
	}
	for _, b := range batches {
		require.NoError(t, b.store.Close(t.Context()))
	}
	require.Zero(t, query[int](t, db, "select deadlocks from pg_stat_database where datname = current_database()"))
}

func TestLeaseStore_BatchesThatMeetDoNotDeadlockAndARoleIsInEachOnce(t *testing.T) {
	db := newMigratedDatabase(t)
	const roles, rounds = 50, 30
	cfg := postgres.LeaseStoreConfig{RequestTimeout: time.Minute}
	stores := []*postgres.LeaseStore{db.leases(t, cfg), db.leases(t, cfg)}
	var all sync.WaitGroup
	for s, store := range stores {
		for i := range roles {
			all.Go(func() {
				for n := range rounds {
					k := (i*7 + n) % roles
					if s == 1 {
						k = roles - 1 - k
					}
					lease, err := store.TryAcquireOrRenew(t.Context(), fmt.Sprint("role ", k), "owner", time.Hour)
					if err == nil && n%3 == 0 {
						err = store.Release(t.Context(), lease)
					}
					if err != nil && !errors.Is(err, relay.ErrNotHeld) { // another one has released it
						t.Errorf("role %d: %v", k, err)
					}
				}
			})
		}
	}
	all.Wait()
	for _, store := range stores {
		require.NoError(t, store.Close(t.Context())) // a session that ends hands in its statistics
	}
	require.Zero(t, query[int](t, db, "select deadlocks from pg_stat_database where datname = current_database()"))
	require.Zero(t, query[int](t, db, "select xact_rollback from pg_stat_database where datname = current_database()"),
		"no batch was refused")
}

func TestLeaseStore_ARenewalOnAnIdleSessionIsOneRoundTrip(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	store, sent := flushes(t, db, "", postgres.LeaseStoreConfig{})
	lease := grant(t, store, "owner", time.Hour)
	db.sleep(t, 1100*time.Millisecond)
	sent.Store(0)
	grant(t, store, "owner", time.Hour)
	require.EqualValues(t, 1, sent.Load(), "a renewal may run twice: nobody asks first whether the session is there")
	db.sleep(t, 1100*time.Millisecond)
	sent.Store(0)
	require.NoError(t, store.Release(t.Context(), lease))
	require.EqualValues(t, 2, sent.Load(), "a release may not: somebody does")
}

func TestLeaseStore_AnIdleSessionThatHasDiedFailsNobody(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
	lease := grant(t, store, "owner", time.Hour)
	for what, call := range map[string]func() error{
		"TryAcquireOrRenew": func() error { return renew(t, store, role) },
		"Current":           func() error { _, err := store.Current(t.Context(), role); return err },
		"AdvanceToken":      func() error { return store.AdvanceToken(t.Context(), "another role", 1) },
		"List":              func() error { _, err := store.List(t.Context()); return err },
	} {
		db.terminateAll(t)
		require.NoError(t, call(), what)
	}
	db.terminateAll(t)
	db.sleep(t, 1100*time.Millisecond)
	require.NoError(t, store.Release(t.Context(), lease), "it asked first")
	require.Equal(t, 1, db.sessions(t))
}

// terminateAll ends the sessions of relay's adapters and waits until they are
// gone.
func (d *database) terminateAll(t testing.TB) {
	t.Helper()
	d.exec(t, `select pg_terminate_backend(pid, 5000) from pg_stat_activity
		where datname = current_database() and application_name = 'relay'`)
}

func TestLeaseStore_ACandidateThatIsDeniedWritesNothing(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	grant(t, store, "owner", time.Hour)
	row := db.lockRow(t, role) // nor does it wait for the row
	_, err := store.TryAcquireOrRenew(t.Context(), role, "another", time.Hour)
	require.ErrorIs(t, err, relay.ErrNotAcquired)
	require.NoError(t, row.Rollback(t.Context()))
}

func TestLeaseStore_CloseEndsCallsThatAreUnderWayAndThoseThatWait(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
	require.NoError(t, renew(t, store, "busy"))
	row := db.lockRow(t, "busy")
	first := async(func() error { return renew(t, store, "busy") })
	db.awaitBlocked(t)
	second := async(func() error { return renew(t, store, "another") })
	require.NoError(t, store.Close(t.Context()))
	require.ErrorIs(t, <-first, relay.ErrClosed)
	require.ErrorIs(t, <-second, relay.ErrClosed)
	require.NoError(t, row.Rollback(t.Context()))
	require.ErrorIs(t, renew(t, store, "another"), relay.ErrClosed)
	_, err := store.List(t.Context())
	require.ErrorIs(t, err, relay.ErrClosed)
	require.ErrorIs(t, store.WaitReleased(t.Context(), "another"), relay.ErrClosed)
	require.NoError(t, store.Close(t.Context()))
	db.awaitOpen(t, 0)
	awaitNoGoroutines(t)
}

// The worst defaults, the moment of expiry, batches, and several stores.
func TestLeaseStore_ATokenHasOneOwnerAndNoneIsSkippedWhereLeasesLapseUnderContention(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	cfg := db.config(t)
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	const roles, owners = 3, 4
	ends := time.Now().Add(2 * time.Second)
	var mu sync.Mutex
	ownerOf := make(map[string]string)
	var all sync.WaitGroup
	for range 3 {
		store := newLeases(t, cfg, postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
		for i := range roles * owners {
			role := fmt.Sprint("role ", i%roles)
			all.Go(func() {
				owner := fmt.Sprintf("%p %d", store, i)
				for n := 0; time.Now().Before(ends); n++ {
					lease, err := store.TryAcquireOrRenew(t.Context(), role, owner, time.Duration(1+n%3)*time.Millisecond)
					if err == nil {
						key := fmt.Sprint(role, " ", lease.Token)
						mu.Lock()
						if other, taken := ownerOf[key]; taken && other != owner {
							t.Errorf("%s belongs to %s and to %s", key, other, owner)
						}
						ownerOf[key] = owner
						mu.Unlock()
					} else if !errors.Is(err, relay.ErrNotAcquired) {
						t.Errorf("a contender failed: %v", err)
					}
					if n%5 == 0 && err == nil {
						if err := store.Release(t.Context(), lease); err != nil && !errors.Is(err, relay.ErrNotHeld) {
							t.Errorf("release: %v", err)
						}
					}
				}
			})
		}
	}
	all.Wait()
	granted := 0
	for i := range roles {
		last := query[int](t, db, "select token from relay_leases where role = $1", fmt.Sprint("role ", i))
		granted += last
		for token := range last {
			require.Contains(t, ownerOf, fmt.Sprintf("role %d %d", i, token+1), "tokens rise by one")
		}
	}
	require.Len(t, ownerOf, granted)
	require.Greater(t, granted, 50)
}

func TestLeaseStore_ListTellsEveryRoleAndSinceWhen(t *testing.T) {
	db := newMigratedDatabase(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	list, err := store.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)

	take := func(role string) relay.Lease {
		lease, err := store.TryAcquireOrRenew(t.Context(), role, "owner", time.Hour)
		require.NoError(t, err)
		return lease
	}
	before := query[time.Time](t, db, "select clock_timestamp()")
	lapsed := take("lapsed")
	take("Zürich")
	after := query[time.Time](t, db, "select clock_timestamp()")
	require.NoError(t, store.Release(t.Context(), lapsed))
	live := take("Zürich")
	require.NoError(t, store.AdvanceToken(t.Context(), "advanced", 40))

	list, err = store.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"Zürich", "advanced", "lapsed"}, []string{list[0].Role, list[1].Role, list[2].Role}, "sorted bytewise")
	require.Len(t, list, 3)
	require.Equal(t, live, list[0].Lease)
	require.True(t, list[0].Live)
	require.WithinRange(t, list[0].AcquiredAt, before, after, "a renewal does not move it")
	require.Equal(t, postgres.LeaseInfo{Lease: relay.Lease{Role: "advanced", Token: 40}}, list[1])
	require.Equal(t, "owner", list[2].Owner)
	require.Equal(t, relay.Token(1), list[2].Token)
	require.False(t, list[2].Live)
	require.WithinRange(t, list[2].AcquiredAt, before, after)

	cfg := db.config(t)
	cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	standby, err := newLeases(t, cfg, postgres.LeaseStoreConfig{}).List(t.Context())
	require.NoError(t, err)
	require.Equal(t, list, standby)
}

// awaitOpen returns once relay's adapters have so many sessions.
func (d *database) awaitOpen(t testing.TB, n int) {
	t.Helper()
	for d.sessions(t) != n {
		require.NoError(t, t.Context().Err())
	}
}
