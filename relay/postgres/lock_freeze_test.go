package postgres_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

func TestLock_AHolderThatWakesTooLateIsToldByItsReleaseBeforeTheServerIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		lock := take(t, newLocker(t, cfg, slow), "job")
		server.freeze()
		time.Sleep(trusted)
		server.thaw()
		require.ErrorIs(t, lock.Release(t.Context()), relay.ErrLost)
		require.True(t, isLost(lock))
		require.Zero(t, server.times("unlock"))
		synctest.Wait()
		require.Zero(t, server.sessions(), "the session is given up at once")
	})
}

func TestLock_AHolderThatWakesTooLateStepsDownWithoutAPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		lock := take(t, newLocker(t, cfg, slow), "job")
		server.freeze()
		time.Sleep(trusted)
		server.thaw()
		synctest.Wait()
		server.notify("any message wakes it")
		synctest.Wait()
		require.True(t, isLost(lock))
		require.Zero(t, server.times("select 1"), "the answer could change nothing")
	})
}

func TestLocker_WhoeverComesAfterAFreezeIsServedOnANewSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		lock := take(t, locker, "job")
		server.freeze()
		time.Sleep(trusted)
		server.thaw()
		another := take(t, locker, "another job")
		require.True(t, isLost(lock))
		require.False(t, isLost(another))
		require.Equal(t, 2, server.connections())
		require.NoError(t, another.Release(t.Context()))
	})
}

// A reply that comes when the trust is over does not bring it back.
func TestLock_AnAnswerThatComesTooLateRevivesNothing(t *testing.T) {
	for what, question := range map[string]string{"to a ping": "select 1", "to a try": "try"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, cfg := newToy(t)
				locker := newLocker(t, cfg, slow)
				lock := take(t, locker, "job")
				server.onAnswer(func(asked string) {
					if asked == question {
						server.freeze()
						time.Sleep(trusted - 5*time.Second) // less than it takes from the question on
						server.thaw()
					}
				})
				time.Sleep(9 * time.Second) // a ping is due a second later
				if question == "try" {
					another, err := locker.TryAcquire(t.Context(), "another job")
					require.ErrorContains(t, err, "TTL − Margin")
					require.NotErrorIs(t, err, relay.ErrNotAcquired)
					require.Nil(t, another)
				}
				<-lock.Lost()
				require.ErrorIs(t, lock.Release(t.Context()), relay.ErrLost)
			})
		})
	}
}

func TestLocker_AGrantThatComesTooLateIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		server.onAnswer(func(asked string) {
			if asked == "try" {
				server.freeze()
				time.Sleep(trusted)
				server.thaw()
			}
		})
		lock, err := locker.TryAcquire(t.Context(), "job")
		require.Nil(t, lock, "the server may free it before anybody can step down")
		require.ErrorContains(t, err, "TTL − Margin")
		require.NotErrorIs(t, err, relay.ErrNotAcquired)
		synctest.Wait()
		require.Zero(t, server.sessions())
	})
}
