package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// acquire waits beside the test, which goes on when the wait has begun.
func acquire(ctx context.Context, l *postgres.Locker, name string) <-chan taken {
	waiting := async(func() taken {
		lock, err := l.Acquire(ctx, name)
		return taken{lock, err}
	})
	synctest.Wait()
	return waiting
}

func try(ctx context.Context, l *postgres.Locker, name string) <-chan taken {
	trying := async(func() taken {
		lock, err := l.TryAcquire(ctx, name)
		return taken{lock, err}
	})
	synctest.Wait()
	return trying
}

// unwoken is slow with waiters that nothing but a wake-up reaches.
func unwoken() postgres.LockerConfig {
	limits := slow
	limits.RetryInterval = 12 * time.Hour
	return limits
}

// The lock was freed while the question was on its way: the refusal may be old.
func TestLocker_AWakeUpDuringAQuestionIsAnsweredByOneMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		ctx, cancel := context.WithCancel(t.Context())
		waiting := acquire(ctx, newLocker(t, cfg, unwoken()), "job")
		require.Equal(t, 1, server.times("ops"), "it has registered at once")
		server.onAnswer(func(what string) {
			switch n := server.times("ops"); {
			case what == "ops" && n == 2:
				server.notify("job")
			case what == "ops" && n > 10:
				time.Sleep(time.Hour) // it asks as fast as it can
			}
		})
		server.notify("job")
		synctest.Wait()
		require.Equal(t, 3, server.times("ops"))
		cancel()
		require.ErrorIs(t, (<-waiting).err, relay.ErrNotAcquired)
	})
}

// A release was looking for waiters just then, and tells nobody.
func TestLocker_AWaiterThatCouldNotRegisterAsksAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		server.onRegister(func() bool { return false })
		server.onAnswer(func(what string) {
			if what == "ops" && server.times(what) == 1 {
				server.occupy("job", false)
			}
		})
		began := time.Now()
		lock, err := newLocker(t, cfg, unwoken()).Acquire(t.Context(), "job")
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), time.Second)
		require.NoError(t, lock.Release(t.Context()))
	})
}

func TestLock_AReleaseThatToldOthersLetsThemGoFirstAndOneThatToldNobodyDoesNot(t *testing.T) {
	const roundTrip = time.Millisecond
	for told, want := range map[bool][2]time.Duration{false: {0, 0}, true: {3 * roundTrip, 10 * roundTrip}} {
		t.Run(fmt.Sprint(told), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, cfg := newToy(t)
				server.told = told
				locker := newLocker(t, cfg, unwoken())
				lock := take(t, locker, "job")
				waiting := acquire(t.Context(), locker, "job")
				server.onAnswer(func(what string) {
					if what == "unlock" {
						time.Sleep(roundTrip)
					}
				})
				require.NoError(t, lock.Release(t.Context()))
				began := time.Now()
				got := <-waiting
				require.NoError(t, got.err)
				require.GreaterOrEqual(t, time.Since(began), want[0])
				require.LessOrEqual(t, time.Since(began), want[1])
			})
		})
	}
}

func TestLock_TheAnswerToAnUnlockSaysWhetherAnotherProcessWasTold(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	var unlocking atomic.Bool
	answers := make(chan byte, 10)
	network.toServer = func(data []byte) { unlocking.Store(bytes.Contains(data, []byte(askUnlock))) }
	row := []byte("D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x01") // of one column of one byte
	network.toClient = func(data []byte) {
		if at := bytes.Index(data, row); at >= 0 && unlocking.Load() {
			answers <- data[at+len(row)]
		}
	}
	locker, other := newLocker(t, cfg, deaf), db.locker(t, deaf)
	require.NoError(t, take(t, locker, "job").Release(t.Context()))
	require.Equal(t, "1", string(<-answers))
	lock := take(t, locker, "job")
	waiting := async(func() error { _, err := other.Acquire(t.Context(), "job"); return err })
	db.awaitWaiters(t, "job", 1)
	require.NoError(t, lock.Release(t.Context()))
	require.Equal(t, "5", string(<-answers))
	require.NoError(t, <-waiting)
}

func TestLocker_ARefusedListenLeavesTheWaitersToTheirTicksAndIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		server.occupy("another job", true)
		server.onQuestion(func(what string) bool { return what == "listen relay" && server.times(what) == 1 })
		locker := newLocker(t, cfg, slow)
		first := acquire(t.Context(), locker, "job")
		require.Equal(t, 1, server.times("listen relay"))
		second := acquire(t.Context(), locker, "another job")
		require.Equal(t, 2, server.times("listen relay"))
		server.occupy("job", false)
		server.occupy("another job", false)
		require.NoError(t, (<-first).err)
		require.NoError(t, (<-second).err)
		require.Equal(t, 2, server.times("listen relay"), "it listens")
	})
}

func TestLocker_ASessionListensWhileSomebodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		locker := newLocker(t, cfg, unwoken())
		take(t, locker, "kept")
		for turn := 1; turn <= 2; turn++ {
			ctx, cancel := context.WithCancel(t.Context())
			waiting := acquire(ctx, locker, "job")
			require.Equal(t, turn, server.times("listen relay"))
			time.Sleep(slow.TTL)
			require.Equal(t, turn-1, server.times("unlisten relay"))
			cancel()
			require.ErrorIs(t, (<-waiting).err, relay.ErrNotAcquired)
			time.Sleep(slow.TTL)
			require.Equal(t, turn, server.times("unlisten relay"), "once, instead of a ping")
		}
	})
}

func TestLocker_WhoStoodBackAndWasRefusedWaitsAsLongAsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.told = true
		locker := newLocker(t, cfg, unwoken())
		lock := take(t, locker, "job")
		ctx, cancel := context.WithCancel(t.Context())
		waiting := acquire(ctx, locker, "job")
		server.onAnswer(func(what string) {
			if what == "unlock" {
				time.Sleep(time.Millisecond)
				server.occupy("job", true)
			}
		})
		require.NoError(t, lock.Release(t.Context()))
		time.Sleep(time.Second)
		require.LessOrEqual(t, server.times("try")+server.times("ops"), 4)
		cancel()
		require.ErrorIs(t, (<-waiting).err, relay.ErrNotAcquired)
	})
}

func TestLocker_AWakeUpBesideTheAnswerToAPingIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		locker := newLocker(t, cfg, unwoken())
		began := time.Now()
		waiting := acquire(t.Context(), locker, "job")
		server.onAnswer(func(what string) {
			if what == "select 1" && server.times(what) == 1 {
				server.occupy("job", false)
				server.notify("job")
			}
		})
		got := <-waiting
		require.NoError(t, got.err)
		require.LessOrEqual(t, time.Since(began), slow.TTL/3+time.Second)
		require.NoError(t, got.lock.Release(t.Context()))
	})
}

// The pid at the start of the connection is a proxy's own invention.
func TestLocker_BehindAProxyItsOwnNotificationsAreNoNewsEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.proxy = true
		server.occupy("job", true)
		limits := unwoken()
		limits.AllowProxy = true
		ctx, cancel := context.WithCancel(t.Context())
		waiting := acquire(ctx, newLocker(t, cfg, limits), "job")
		require.Len(t, server.batches(), 1)
		server.notifyAs(ownPID, "job")
		synctest.Wait()
		require.Len(t, server.batches(), 1)
		server.notifyAs(otherPID, "job")
		synctest.Wait()
		require.Len(t, server.batches(), 2)
		cancel()
		require.ErrorIs(t, (<-waiting).err, relay.ErrNotAcquired)
	})
}

// A release between the two finds no waiter, and tells nobody.
func TestLocker_AWaiterRegistersBeforeItTries(t *testing.T) {
	db := newDatabase(t)
	lock := take(t, db.locker(t, deaf), "job")
	gate := db.begin(t, pgx.TxOptions{})
	_, err := gate.Exec(t.Context(), "select pg_advisory_xact_lock(1)")
	require.NoError(t, err)
	limits := deaf
	limits.TTL, limits.RequestTimeout = 10*time.Minute, 2*time.Minute // the gate is no reason to give up
	locker := newLocker(t, db.faulty(t, map[string]string{
		"pg_try_advisory_lock_shared": `perform pg_catalog.pg_advisory_lock(1);
			perform pg_catalog.pg_advisory_unlock(1);
			return pg_catalog.pg_try_advisory_lock_shared(k);`,
	}), limits)
	waiting := async(func() taken {
		lock, err := locker.Acquire(t.Context(), "job")
		return taken{lock, err}
	})
	db.awaitBlocked(t) // about to register
	require.NoError(t, lock.Release(t.Context()))
	require.NoError(t, gate.Rollback(t.Context()))
	got := <-waiting
	require.NoError(t, got.err)
	require.NoError(t, got.lock.Release(t.Context()))
}
