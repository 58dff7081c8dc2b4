package postgres_test

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestLocker_AGrantGoesToTheFirstWhoStillWantsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		answer := make(chan struct{})
		server.onAnswer(func(what string) {
			if what == "try" || what == "ops" {
				<-answer
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		before := try(t.Context(), locker, "before")
		leader := try(t.Context(), locker, "leader") // asks for those after it too
		first, second := try(ctx, locker, "job"), try(t.Context(), locker, "job")
		answer <- struct{}{}
		require.NoError(t, (<-before).err)
		synctest.Wait() // the question for all of them is out
		cancel()
		synctest.Wait()
		answer <- struct{}{}
		require.NoError(t, (<-leader).err)
		require.ErrorIs(t, (<-first).err, context.Canceled)
		require.NoError(t, (<-second).err, "it was free")
		require.Equal(t, []string{"22"}, server.batches())
		require.Zero(t, server.times("unlock"), "it need not go back")
	})
}

func TestLock_APingThatIsRefusedIsRepeatedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		lock := take(t, newLocker(t, cfg, slow), "job")
		server.onQuestion(func(what string) bool { return what == "select 1" && server.times(what) < 10 })
		time.Sleep(trusted + time.Second)
		require.False(t, isLost(lock), "the server refused it nine times, and still had time to answer")
		require.NoError(t, lock.Release(t.Context()))
	})
}

func TestLocker_AWaiterOnAServerThatFallsSilentIsToldWithinRequestTimeoutOfAPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		locker := newLocker(t, cfg, unwoken())
		began := time.Now()
		waiting := acquire(t.Context(), locker, "job")
		server.onAnswer(func(string) { time.Sleep(time.Hour) })
		got := <-waiting
		require.ErrorIs(t, got.err, os.ErrDeadlineExceeded)
		require.NotErrorIs(t, got.err, relay.ErrNotAcquired)
		require.LessOrEqual(t, time.Since(began), slow.TTL/3+slow.RequestTimeout)
		require.NoError(t, locker.Close(t.Context()))
	})
}

func TestLock_TheLateAnswerToAReleaseIsNoAnswerToTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		take(t, locker, "kept")
		lock := take(t, locker, "job")
		server.onAnswer(func(what string) {
			if what == "select 1" {
				time.Sleep(slow.RequestTimeout + 2*time.Second)
			}
		})
		time.Sleep(slow.TTL/3 + time.Second) // a ping is out
		require.ErrorContains(t, lock.Release(t.Context()), "no answer within RequestTimeout")
		another := take(t, locker, "another job") // asked together with the unlock
		require.NotNil(t, another)
		require.Equal(t, "another job", another.Name())
		require.NoError(t, another.Release(t.Context()))
	})
}

func TestLocker_CallsDuringWhichItIsClosedAreErrClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		ctx := watched{t.Context(), func() { _ = locker.Close(context.Background()) }} // after the call's first look
		lock, err := locker.TryAcquire(ctx, "job")
		require.Nil(t, lock)
		require.ErrorIs(t, err, relay.ErrClosed)
	})
}

func TestLocker_CloseReturnsAfterItsObserverWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cfg := newToy(t)
		limits := slow
		var told atomic.Int32
		limits.Observer = func(relay.Event) {
			time.Sleep(time.Second)
			told.Add(1)
		}
		locker := newLocker(t, cfg, limits)
		take(t, locker, "one")
		take(t, locker, "two")
		require.NoError(t, locker.Close(t.Context()))
		require.EqualValues(t, 2, told.Load())
	})
}

// follower has a caller whose question is asked by another, and not answered
// until pass. The leader's name is "leader".
func follower(t *testing.T, server *toy, locker *postgres.Locker, call func() <-chan taken) (follows <-chan taken, pass func()) {
	t.Helper()
	answer := make(chan struct{})
	server.onAnswer(func(what string) {
		if what == "try" || what == "ops" {
			<-answer
		}
	})
	before, leader := try(t.Context(), locker, "before"), try(t.Context(), locker, "leader")
	follows = call()
	answer <- struct{}{}
	require.NoError(t, (<-before).err)
	synctest.Wait()
	return follows, func() {
		close(answer)
		require.NoError(t, (<-leader).err)
	}
}

func TestLocker_WhoLeavesWhileItsQuestionIsOutReturnsWhenNothingIsHeldForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		ctx, cancel := context.WithCancel(t.Context())
		gone, pass := follower(t, server, locker, func() <-chan taken { return acquire(ctx, locker, "job") })
		cancel()
		synctest.Wait()
		require.Empty(t, gone, "the server may have granted it")
		pass()
		require.ErrorIs(t, (<-gone).err, context.Canceled)
		server.mu.Lock()
		defer server.mu.Unlock()
		require.Nil(t, server.held[uint64(postgres.LockKey("job"))])
	})
}

func TestLocker_AQuestionThatNobodyWantsAnyMoreIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		pass := make(chan struct{})
		server.onAnswer(func(string) { <-pass })
		opening := try(t.Context(), locker, "job")
		ctx, cancel := context.WithCancel(t.Context())
		gone := try(ctx, locker, "another job")
		cancel()
		require.ErrorIs(t, (<-gone).err, context.Canceled)
		close(pass)
		require.NoError(t, (<-opening).err)
		synctest.Wait()
		require.Empty(t, server.batches())
		require.Equal(t, 1, server.times("try"))
	})
}

func TestLocker_WhoComesWhileTheLastWaiterLeavesIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		locker := newLocker(t, cfg, unwoken())
		take(t, locker, "kept")
		ctx, cancel := context.WithCancel(t.Context())
		waiting := acquire(ctx, locker, "job")
		pass := make(chan struct{})
		server.onAnswer(func(what string) {
			if what == "ops" {
				<-pass
			}
		})
		cancel()
		require.ErrorIs(t, (<-waiting).err, relay.ErrNotAcquired)
		time.Sleep(slow.TTL/3 + time.Second) // by then the leave is out
		require.Equal(t, []string{"3", "5"}, server.batches())
		server.occupy("job", false)
		late := try(t.Context(), locker, "job")
		close(pass)
		require.NoError(t, (<-late).err)
	})
}

func TestLocker_WhenTheFirstWaiterLeavesTheNextAsksInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		locker := newLocker(t, cfg, slow)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := acquire(ctx, locker, "job"), acquire(t.Context(), locker, "job")
		cancel()
		require.ErrorIs(t, (<-first).err, relay.ErrNotAcquired)
		server.occupy("job", false) // and nobody says so
		began := time.Now()
		require.NoError(t, (<-second).err)
		require.LessOrEqual(t, time.Since(began), slow.TTL/6)
	})
}

func TestLocker_APanicOfTheUsersCallbackMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		server.occupy("job", true)
		limits := slow
		limits.MaxHeld = 1
		limits.Jitter = func(time.Duration) time.Duration { panic("jitter") }
		locker := newLocker(t, cfg, limits)
		require.PanicsWithValue(t, "jitter", func() { _, _ = locker.Acquire(t.Context(), "job") })
		time.Sleep(slow.TTL)
		take(t, locker, "another job")
	})
}

func TestLock_ALossDuringAReleaseIsOneEventAndARefusedReleaseIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		var mu sync.Mutex
		var told []relay.EventKind
		limits := slow
		limits.Observer = func(e relay.Event) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e.Kind)
		}
		locker := newLocker(t, cfg, limits)
		refused, lost := take(t, locker, "refused"), take(t, locker, "lost")
		server.onQuestion(func(what string) bool { return what == "unlock" || what == "ops" })
		require.ErrorContains(t, refused.Release(t.Context()), "refused")
		server.onQuestion(nil)
		pass := make(chan struct{})
		server.onAnswer(func(what string) {
			if what == "unlock" || what == "ops" { // the keeper asks for the other too
				<-pass
			}
		})
		released := async(func() error { return lost.Release(t.Context()) })
		synctest.Wait()
		server.kill()
		require.ErrorIs(t, <-released, relay.ErrLost)
		close(pass)
		require.False(t, isLost(refused), "Lost tells only of a loss")
		require.NoError(t, locker.Close(t.Context()))
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, []relay.EventKind{relay.EventFailed, relay.EventLost}, told)
	})
}

func TestLocker_WhatTheServerSaidBeforeItHungUpIsTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		server.onQuestion(func(what string) bool {
			if what == "try" {
				server.each(func(c *toySession) {
					c.server.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "57P01", Message: "goodbye"})
					_ = c.server.Flush()
					_ = c.conn.Close()
				})
			}
			return false
		})
		_, err := locker.TryAcquire(t.Context(), "job")
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "57P01", refused.Code)
	})
}
