//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// brief is the TTL of leases that have lapsed before a server is back.
const brief = time.Millisecond

func TestLeaseStore_ACrashOfTheServerNeverHandsATokenOutAgain(t *testing.T) {
	db := newServer(t, hostile...)
	db.migrate(t)
	store := db.leases(t, postgres.LeaseStoreConfig{})
	var highest, released relay.Token
	owners := 0
	take := func(t *testing.T, ttl time.Duration) relay.Lease {
		owners++
		lease := untilAnswered(t, func() (relay.Lease, error) {
			lease, err := store.TryAcquireOrRenew(t.Context(), "role", fmt.Sprint("owner ", owners), ttl)
			var other *relay.HeldError
			if errors.As(err, &other) {
				require.NotEqual(t, released, other.Lease.Token, "a release that was acknowledged is forgotten")
			}
			return lease, err
		})
		require.Greater(t, lease.Token, highest, "a token that was acknowledged is handed out again")
		highest = lease.Token
		return lease
	}
	for what, acknowledged := range map[string]func(t *testing.T){
		"a grant": func(t *testing.T) { take(t, brief) },
		"a release": func(t *testing.T) {
			lease := take(t, time.Hour)
			require.NoError(t, store.Release(t.Context(), lease))
			released = lease.Token
		},
		"an advance": func(t *testing.T) {
			take(t, brief)
			highest += 10
			require.NoError(t, store.AdvanceToken(t.Context(), "role", highest))
		},
	} {
		t.Run("after "+what, func(t *testing.T) {
			for range 3 {
				acknowledged(t)
				db.crash(t)
				db.start(t)
				take(t, brief)
			}
		})
	}
}

func TestAdmitTx_ACrashOfTheServerForgetsNoAcknowledgedWrite(t *testing.T) {
	db := newServer(t, hostile...)
	db.exec(t, "create table ledger (token bigint)")
	db.migrate(t)
	write := func(token relay.Token) error {
		return pgx.BeginFunc(t.Context(), db.pool, func(tx pgx.Tx) error {
			if err := postgres.AdmitTx(t.Context(), tx, "ledger", token); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), "insert into ledger values ($1)", token)
			return err
		})
	}
	for token := relay.Token(2); token <= 4; token++ {
		require.NoError(t, write(token))
		db.crash(t)
		db.start(t)
		require.Equal(t, token, query[relay.Token](t, db.database, "select coalesce(max(token), 0) from ledger"))
		require.ErrorIs(t, write(token-1), relay.ErrStaleToken, "the fence remembers")
	}
}

// The twin of the two above: on the same server a table that leaves the commit
// to the defaults does hand a number out twice. Not each time: the server writes
// every 10 s.
func TestServerCrash_ACommitThatIsLeftToTheDefaultsIsForgotten(t *testing.T) {
	db := newServer(t, hostile...)
	db.exec(t, "create table plain as select 0 as token")
	db.exec(t, "checkpoint")
	next := func() relay.Token {
		return query[relay.Token](t, db.database, "update plain set token = token + 1 returning token")
	}
	for range 10 {
		acknowledged := next()
		db.crash(t)
		db.start(t)
		if next() == acknowledged {
			return
		}
	}
	require.FailNow(t, "a crash forgets nothing here, so that the tests above show nothing")
}

func TestLocker_ACrashOfTheServerTellsEveryHolderAndTheLockerGoesOn(t *testing.T) {
	db := newServer(t, hostile...)
	locker, err := postgres.NewLocker(db.config(t), postgres.LockerConfig{})
	require.NoError(t, err)
	rival, err := postgres.NewLocker(db.config(t), patientCandidate)
	require.NoError(t, err)
	var locks []relay.Lock
	for i := range 20 {
		locks = append(locks, take(t, locker, fmt.Sprint("job ", i)))
	}
	waiting := async(func() error {
		_, err := rival.Acquire(t.Context(), "job 0")
		return err
	})
	_, err = rival.TryAcquire(t.Context(), "job 0")
	require.ErrorIs(t, err, relay.ErrNotAcquired)

	db.crash(t)
	for _, lock := range locks {
		<-lock.Lost()
		require.ErrorIs(t, lock.Release(t.Context()), relay.ErrLost)
	}
	err = <-waiting
	require.Error(t, err)
	require.NotErrorIs(t, err, relay.ErrLost, "it never had the lock")
	_, err = locker.TryAcquire(t.Context(), "job 0")
	require.Error(t, err)
	require.NotErrorIs(t, err, relay.ErrNotAcquired, "nobody is there to say so")

	db.start(t)
	require.Zero(t, db.locks(t), "held by nobody")
	for i := range locks {
		name := fmt.Sprint("job ", i)
		locks[i] = untilAnswered(t, func() (relay.Lock, error) { return locker.TryAcquire(t.Context(), name) })
		requireHeld(t, rival, name)
	}
	require.Equal(t, len(locks), db.locks(t))
	for _, lock := range locks {
		require.NoError(t, lock.Release(t.Context()))
	}
	require.NoError(t, locker.Close(t.Context()))
	require.NoError(t, rival.Close(t.Context()))
	require.Zero(t, db.locks(t))
	require.Zero(t, db.sessions(t))
	awaitNoGoroutines(t)
}

// requireHeld says that somebody else holds a lock. A session that has died
// meanwhile is no answer.
func requireHeld(t testing.TB, locker *postgres.Locker, name string) {
	t.Helper()
	for {
		_, err := locker.TryAcquire(t.Context(), name)
		require.Error(t, err, "two hold it")
		if errors.Is(err, relay.ErrNotAcquired) {
			return
		}
		require.NoError(t, t.Context().Err())
	}
}

// patientCandidate is for who waits for somebody else's lock.
var patientCandidate = postgres.LockerConfig{RetryInterval: 20 * time.Millisecond}

// leaders follows who leads.
type leaders struct {
	now   atomic.Int32
	began chan relay.Token // 0 under a lock, which has no token
	ended chan error       // why
}

func newLeaders() *leaders {
	return &leaders{began: make(chan relay.Token), ended: make(chan error)}
}

func (l *leaders) lead(ctx context.Context, term relay.Term) error {
	l.now.Add(1)
	l.began <- term.Token()
	<-ctx.Done()
	l.now.Add(-1)
	cause := context.Cause(ctx)
	if errors.Is(cause, relay.ErrLost) && term.Valid() {
		cause = errors.New("a term that is lost is valid")
	}
	l.ended <- cause
	return nil
}

func TestElectors_NobodyLeadsWhileTheServerIsDownAndOneDoesOnceItIsBack(t *testing.T) {
	db := newServer(t, hostile...)
	db.migrate(t)
	const ttl = 3 * time.Second
	leases := db.leases(t, postgres.LeaseStoreConfig{})
	byLease, err := relay.NewLeaseElector(leases, relay.LeaseElectorConfig{TTL: ttl, RetryInterval: 50 * time.Millisecond})
	require.NoError(t, err)
	locker := db.locker(t, postgres.LockerConfig{TTL: ttl, RetryInterval: 50 * time.Millisecond})
	byLock, err := relay.NewLockElector(locker, relay.LockElectorConfig{RetryInterval: 50 * time.Millisecond})
	require.NoError(t, err)

	ofLease, ofLock := newLeaders(), newLeaders()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var returned []<-chan error
	for range 2 { // a leader and a candidate
		returned = append(returned, async(func() error {
			return byLease.Run(ctx, "role", ofLease.lead)
		}), async(func() error {
			return byLock.Run(ctx, "role", func(ctx context.Context) error {
				return ofLock.lead(ctx, relay.Term{})
			})
		}))
	}
	first := <-ofLease.began
	<-ofLock.began

	db.crash(t)
	require.ErrorIs(t, <-ofLease.ended, relay.ErrLost)
	require.ErrorIs(t, <-ofLock.ended, relay.ErrLost)
	require.Zero(t, ofLease.now.Load()+ofLock.now.Load(), "somebody leads, and nobody can have said so")

	db.start(t)
	require.Greater(t, <-ofLease.began, first)
	<-ofLock.began
	cancel()
	require.ErrorIs(t, <-ofLease.ended, context.Canceled)
	require.ErrorIs(t, <-ofLock.ended, context.Canceled)
	for _, run := range returned {
		require.ErrorIs(t, <-run, context.Canceled)
	}
}
