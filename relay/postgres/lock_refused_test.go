package postgres_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

// A lock table that is full has room again for what is asked after the unlocks.
func TestLocker_AfterARefusalTheUnlocksAreAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		held := take(t, locker, "held")
		busy := make(chan struct{})
		server.onAnswer(func(what string) {
			if what == "try" {
				<-busy
			}
		})
		refused := false
		server.onQuestion(func(what string) bool {
			first := what == "ops" && !refused
			refused = refused || first
			return first
		})
		first, second := try(t.Context(), locker, "first"), try(t.Context(), locker, "second")
		released := async(func() error { return held.Release(t.Context()) })
		synctest.Wait()
		close(busy)
		require.NoError(t, (<-first).err)
		require.NoError(t, (<-second).err)
		require.NoError(t, <-released)
		require.Equal(t, []string{"20", "12"}, server.batches(), "the try and the unlock, and then the unlock, telling nobody, and the try")
	})
}

func TestLocker_ALookAtWhatIsHeldThatIsRefusedIsRepeatedAndThenEndsTheSession(t *testing.T) {
	for times, lost := range map[int]bool{2: false, math.MaxInt: true} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, cfg := newToy(t)
				locker := newLocker(t, cfg, slow)
				kept := take(t, locker, "kept")
				server.onQuestion(func(what string) bool {
					return what == "try" && server.times(ownLocks) == 0 || what == ownLocks && server.times(ownLocks) <= times
				})
				_, err := locker.TryAcquire(t.Context(), "job")
				require.Equal(t, lost, err != nil)
				require.Equal(t, lost, isLost(kept))
				if lost {
					require.NotErrorIs(t, err, relay.ErrNotAcquired)
					require.ErrorIs(t, kept.Release(t.Context()), relay.ErrLost)
				}
			})
		})
	}
}

// The server has granted the lock, and refuses what comes after.
func TestLocker_AWaiterWhoseGrantWasRefusedHalfWayHoldsItAndLeavesLater(t *testing.T) {
	db := newDatabase(t)
	lock := take(t, db.locker(t, deaf), "job")
	locker := newLocker(t, db.faulty(t, map[string]string{
		"pg_advisory_unlock_shared": `if nextval('faulty.seen') = 1 then raise exception 'refused'; end if;
			return pg_catalog.pg_advisory_unlock_shared(k);`,
	}), deaf)
	take(t, locker, "kept") // and with it the session
	waiting := async(func() taken {
		lock, err := locker.Acquire(t.Context(), "job")
		return taken{lock, err}
	})
	db.awaitWaiters(t, "job", 1)
	require.NoError(t, lock.Release(t.Context()))
	got := <-waiting
	require.NoError(t, got.err)
	require.NotZero(t, db.holder(t, "job"))
	require.NoError(t, got.lock.Release(t.Context()))
	db.awaitWaiters(t, "job", 0)
	require.Equal(t, 1, db.locks(t))
}

func TestLocker_ATryThatIsRefusedIsAskedOnceMoreAndAnUnlockThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		lock := take(t, locker, "job")
		server.onQuestion(func(what string) bool { return what == "try" || what == "unlock" || what == "ops" })
		before := server.times("try")
		_, err := locker.TryAcquire(t.Context(), "another job")
		require.ErrorContains(t, err, "refused")
		require.Equal(t, 2, server.times("try")-before)
		require.ErrorContains(t, lock.Release(t.Context()), "refused")
		require.Equal(t, 1, server.times("unlock"))
		require.Equal(t, []string{"1", "1", "1"}, server.batches(), "more quietly than the first")
		time.Sleep(slow.TTL / 50)
		require.Equal(t, 1, server.times("unlock"), "and then after a pause")
		server.onQuestion(nil)
		time.Sleep(slow.TTL / 3) // the keeper goes on, at its own pace
		require.Equal(t, 2, server.times("unlock"))
		require.NoError(t, take(t, locker, "job").Release(t.Context()))
	})
}

func TestLocker_AWaiterWhoseLeaveIsRefusedLeavesAllTheSame(t *testing.T) {
	db := newDatabase(t)
	holder := db.locker(t, deaf)
	take(t, holder, "job")
	limits := deaf
	limits.TTL = 3 * time.Second
	locker := newLocker(t, db.faulty(t, map[string]string{
		"pg_advisory_unlock_shared": `if nextval('faulty.seen') = 1 then raise exception 'refused'; end if;
			return pg_catalog.pg_advisory_unlock_shared(k);`,
	}), limits)
	take(t, locker, "kept") // and with it the session
	ctx, cancel := context.WithCancel(t.Context())
	waiting := async(func() error { _, err := locker.Acquire(ctx, "job"); return err })
	db.awaitWaiters(t, "job", 1)
	cancel()
	require.ErrorIs(t, <-waiting, relay.ErrNotAcquired)
	db.awaitWaiters(t, "job", 0)
	require.Equal(t, 2, db.locks(t))
}

func TestLocker_WhoeverWasNotAskedForIsServedAfterALossOfTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		locker := newLocker(t, cfg, unwoken())
		waiting := acquire(t.Context(), locker, "job")
		require.Equal(t, []string{"3"}, server.batches(), "it is a waiter")
		server.onAnswer(func(what string) {
			if what == "ops" {
				time.Sleep(time.Minute)
			}
		})
		server.notify("job")
		synctest.Wait() // the waiter's question is out
		require.Len(t, server.batches(), 2)
		another, late := try(t.Context(), locker, "another job"), acquire(t.Context(), locker, "job")
		server.onAnswer(nil)
		server.kill()
		require.Error(t, (<-waiting).err, "nobody knows what became of it")
		require.NoError(t, (<-another).err)
		synctest.Wait()
		require.Equal(t, []string{"3", "4", "22", "3"}, server.batches(), "on the new session it has to register")
		server.occupy("job", false)
		server.notify("job")
		require.NoError(t, (<-late).err)
	})
}

func TestLocker_WhoeverCameAfterAQuestionThatWasRefusedIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		pass := make(chan struct{})
		server.onQuestion(func(what string) bool {
			if n := server.times(what); what == "try" && n <= 2 { // and once more
				if n == 1 {
					<-pass
				}
				return true
			}
			return false
		})
		first, second := try(t.Context(), locker, "job"), try(t.Context(), locker, "job")
		close(pass)
		require.ErrorContains(t, (<-first).err, "refused")
		require.NoError(t, (<-second).err)
	})
}

func TestLocker_ALookAtWhatIsHeldThatIsNotAnsweredEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		kept := take(t, locker, "kept")
		server.onQuestion(func(what string) bool { return what == "try" && server.times(ownLocks) == 0 })
		server.onAnswer(func(what string) {
			if what == ownLocks {
				time.Sleep(time.Minute)
			}
		})
		began := time.Now()
		_, err := locker.TryAcquire(t.Context(), "job")
		require.Error(t, err)
		require.NotErrorIs(t, err, relay.ErrNotAcquired)
		require.True(t, isLost(kept), "nobody knows what is held")
		require.LessOrEqual(t, time.Since(began), slow.RequestTimeout)
	})
}

func TestLocker_WhoHasLeftIsToldSoWhenTheSessionIsLostToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		kept := take(t, locker, "kept")
		server.onAnswer(func(what string) {
			if what == "try" || what == "ops" {
				time.Sleep(time.Second)
			}
		})
		before := try(t.Context(), locker, "before")
		leader := try(t.Context(), locker, "leader") // asks for those after it too
		ctx, cancel := context.WithCancel(t.Context())
		gone := acquire(ctx, locker, "job")
		require.NoError(t, (<-before).err)
		synctest.Wait() // the question for both is out
		require.Equal(t, []string{"22"}, server.batches())
		cancel()
		synctest.Wait()
		server.kill()
		require.Error(t, (<-leader).err)
		err := (<-gone).err
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, relay.ErrNotAcquired)
		<-kept.Lost()
	})
}
