package postgres_test

import (
	"bytes"
	"context"
	"fmt"
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

// endless is for Lockers whose every wait for a time limit takes hours.
var endless = postgres.LockerConfig{TTL: 24 * time.Hour, RequestTimeout: time.Hour, RetryInterval: 12 * time.Hour}

// A keeper that parks knows nothing of it unless it is woken.
func TestLocker_AWaiterThatLeavesMakesRoomAtOnce(t *testing.T) {
	db := newDatabase(t)
	lock := take(t, db.locker(t, deaf), "job")
	limits := endless
	limits.MaxHeld = 1
	locker := db.locker(t, limits)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := async(func() error {
		_, err := locker.Acquire(ctx, "job")
		return err
	})
	db.awaitWaiters(t, "job", 1)
	db.sleep(t, 100*time.Millisecond) // a faulty Locker has to have time to park
	cancel()
	require.ErrorIs(t, <-waiting, context.Canceled)
	other := take(t, locker, "other")
	db.awaitWaiters(t, "job", 0)
	require.NoError(t, other.Release(t.Context()))
	require.NoError(t, lock.Release(t.Context()))
}

// Locks stack: who registers twice has to leave twice.
func TestLocker_AWaiterWhoseRegistrationWasRefusedLeavesNoneBehind(t *testing.T) {
	db := newDatabase(t)
	held := take(t, db.locker(t, deaf), "job")
	locker := newLocker(t, db.faulty(t, map[string]string{
		"pg_try_advisory_lock": `if nextval('faulty.seen') = 2 then raise exception 'refused'; end if;
			return pg_catalog.pg_try_advisory_lock(k);`, // the second is asked by a waiter that registers
	}), deaf)
	waiting := async(func() taken {
		lock, err := locker.Acquire(t.Context(), "job")
		return taken{lock, err}
	})
	for query[int](t, db, "select last_value from faulty.seen") < 3 { // asked again
		require.NoError(t, t.Context().Err())
	}
	require.NoError(t, held.Release(t.Context()))
	got := <-waiting
	require.NoError(t, got.err)
	require.NoError(t, got.lock.Release(t.Context()))
	take(t, locker, "another") // keeps the session
	require.Zero(t, db.waiters(t, "job"))
}

func TestLocker_AWaiterInsideTheUsersJitterHoldsUpNobody(t *testing.T) {
	db := newDatabase(t)
	held := take(t, db.locker(t, deaf), "job")
	inside, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	limits := endless
	limits.Jitter = func(d time.Duration) time.Duration {
		once.Do(func() { close(inside) })
		<-goOn
		return d
	}
	locker := db.locker(t, limits)
	waiting := async(func() taken {
		lock, err := locker.Acquire(t.Context(), "job")
		return taken{lock, err}
	})
	<-inside
	var callers sync.WaitGroup
	for i := range 8 { // one of them after the other has the lead, and passes it on
		callers.Go(func() {
			for range 50 {
				if _, err := locker.TryAcquire(t.Context(), "job"); err == nil {
					t.Error("it is held")
				}
				lock, err := locker.TryAcquire(t.Context(), fmt.Sprint("free ", i))
				if err == nil {
					err = lock.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	close(goOn)
	require.NoError(t, held.Release(t.Context()))
	got := <-waiting
	require.NoError(t, got.err)
	require.NoError(t, got.lock.Release(t.Context()))
}

// testing's FailNow does that.
func TestConnect_ACallbackThatEndsItsGoroutineIsAnErrorToWhoWaits(t *testing.T) {
	db := newMigratedDatabase(t)
	cfg := db.config(t)
	var first atomic.Bool
	cfg.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		if first.CompareAndSwap(true, false) {
			runtime.Goexit()
		}
		return nil
	}
	locker := newLocker(t, cfg, postgres.LockerConfig{})
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	for what, call := range map[string]func() error{
		"a lock": func() error {
			lock, err := locker.TryAcquire(t.Context(), "job")
			if err != nil {
				return err
			}
			return lock.Release(t.Context())
		},
		"a lease": func() error {
			_, err := store.TryAcquireOrRenew(t.Context(), role, "owner", time.Hour)
			return err
		},
		"a wait": func() error { return store.WaitReleased(t.Context(), "nobody's") },
	} {
		first.Store(true)
		require.ErrorContains(t, call(), "Goexit", what)
		if what != "a wait" { // which is not tried again at once
			require.NoError(t, call(), what)
		}
	}
}

// The server gives up each unlock, and each takes most of the time.
func TestLock_AReleaseIsBoundedThatAsksForItself(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	locker := newLocker(t, db.faulty(t, map[string]string{
		"pg_advisory_unlock": "perform pg_sleep(60); return pg_catalog.pg_advisory_unlock(k);",
	}), postgres.LockerConfig{RequestTimeout: 500 * time.Millisecond})
	lock := take(t, locker, "job")
	err := lock.Release(t.Context())
	require.ErrorContains(t, err, "no answer within RequestTimeout", "it does not wait for what the server says to the next try")
	require.NotErrorIs(t, err, relay.ErrLost)
}

// Whoever gave up its wait goes, though what came too late can't be given back
// yet.
func TestLocker_ACallerThatHasLeftNeedNotStayForAnUnlockThatIsRefused(t *testing.T) {
	db := newDatabase(t)
	refuse := refusing("")
	cfg := db.faulty(t, map[string]string{
		"pg_advisory_unlock": "declare found_it bool; begin " + refuse[:len(refuse)-len("return found_it;")] +
			" return pg_catalog.pg_advisory_unlock(k); end;",
	})
	network := newSniffer(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	network.toServer = func(data []byte) {
		if bytes.Contains(data, []byte(askTry)) {
			cancel()
		}
	}
	locker := newLocker(t, cfg, postgres.LockerConfig{TTL: 3 * time.Second})
	db.refuse(t, "job", 8)
	_, err := locker.TryAcquire(ctx, "job")
	require.ErrorIs(t, err, context.Canceled)
	next, err := db.locker(t, patient).Acquire(t.Context(), "job") // the keeper goes on asking
	require.NoError(t, err)
	require.NoError(t, next.Release(t.Context()))
	require.Less(t, query[int](t, db, "select last_value from faulty.seen"), 100, "and not as fast as it can")
}

func TestLocker_WithNothingHeldAnyMoreNoAnswerIsWaitedForLong(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	limits := endless
	limits.RequestTimeout = 500 * time.Millisecond
	locker, err := postgres.NewLocker(cfg, limits)
	require.NoError(t, err)
	lock := take(t, locker, "job")
	network.freeze()
	trying := async(func() error {
		_, err := locker.TryAcquire(t.Context(), "another")
		return err
	})
	db.sleep(t, 700*time.Millisecond) // the answer is late by now, and waited for, because of the lock
	require.ErrorContains(t, lock.Release(t.Context()), "no answer")
	require.NotErrorIs(t, <-trying, relay.ErrNotAcquired, "nobody said that it is held")
	require.NoError(t, locker.Close(t.Context()))
}

// A Close that were missed by the keeper, which may be just about to park, would
// take an hour.
func TestLocker_CloseFindsTheKeeperWhateverItDoes(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	for n := range 200 {
		locker, err := postgres.NewLocker(db.config(t), endless)
		require.NoError(t, err)
		take(t, locker, "job")
		for parks := time.Now().Add(1900*time.Microsecond + time.Duration(n)*2*time.Microsecond); time.Now().Before(parks); {
		}
		require.NoError(t, locker.Close(t.Context()))
	}
	require.Zero(t, db.locks(t))
}

func TestLocker_ErrorsSayWhoseTimeIsUp(t *testing.T) {
	db := newDatabase(t)
	take(t, db.locker(t, deaf), "job")
	locker := db.locker(t, deaf)
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := async(func() error {
		_, err := locker.Acquire(ctx, "job")
		return err
	})
	db.awaitWaiters(t, "job", 1)
	cancel(relay.ErrClosed) // a cause of the caller's own
	for _, err := range []error{<-waiting, func() error { _, err := locker.Acquire(ctx, "job"); return err }()} {
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, relay.ErrNotAcquired)
		require.NotErrorIs(t, err, relay.ErrClosed, "the Locker is open")
	}
}
