package memory_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

func TestLocker_TheZeroValueIsReady(t *testing.T) {
	var locker memory.Locker
	lock, err := locker.TryAcquire(t.Context(), "job")
	require.NoError(t, err)
	_, err = locker.TryAcquire(t.Context(), "job")
	require.ErrorIs(t, err, relay.ErrNotAcquired)
	require.NoError(t, lock.Release(t.Context()))
}

func TestLocker_TwoLockersDontExcludeEachOther(t *testing.T) {
	_, err := memory.NewLocker().TryAcquire(t.Context(), "job")
	require.NoError(t, err)
	_, err = memory.NewLocker().TryAcquire(t.Context(), "job")
	require.NoError(t, err, "a limit that doc.go admits: each has locks of its own")
}

func TestLocker_LooksAtTheNameFirst(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	locker := memory.NewLocker()
	_, err := locker.TryAcquire(ended, "")
	require.ErrorIs(t, err, relay.ErrInvalidName, "a bad name stays bad, whatever the context")
	_, err = locker.Acquire(ended, "")
	require.ErrorIs(t, err, relay.ErrInvalidName)
	require.NotErrorIs(t, err, relay.ErrNotAcquired, "to try a bad name again is in vain")
}

func TestLocker_WaitersGetTheLockInTheOrderInWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := memory.NewLocker()
		lock := mustTry(t, locker)
		var order []int // each entry is written by the one who holds the lock
		for i := range 5 {
			go func() {
				next, err := locker.Acquire(t.Context(), "job")
				if err == nil {
					order = append(order, i)
					err = next.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait() // until it waits
		}
		require.NoError(t, lock.Release(t.Context()))
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, order, "whoever waits longest is next")
	})
}

func TestLocker_ANewcomerDoesNotOvertakeAWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := memory.NewLocker()
		lock := mustTry(t, locker)
		got := acquire(t.Context(), locker)
		synctest.Wait()

		require.NoError(t, lock.Release(t.Context()))
		// The waiter has not run yet; the lock is its own already.
		_, err := locker.TryAcquire(t.Context(), "job")
		require.ErrorIs(t, err, relay.ErrNotAcquired, "a released lock goes to who waits, not to who comes by")
		require.NoError(t, (<-got).err)
	})
}

func TestLocker_AWaiterThatGivesUpIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := memory.NewLocker()
		lock := mustTry(t, locker)
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := acquire(brief, locker)
		synctest.Wait()
		second := acquire(t.Context(), locker)

		err := (<-first).err
		require.ErrorIs(t, err, relay.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, (<-second).err, "the next in line gets it")
	})
}

// The hand-over and the cancel fall together, in each order and at once. Either
// the waiter holds the lock, or it is free for the next one.
func TestLocker_AHandOverToAWaiterThatIsCancelledIsPassedOn(t *testing.T) {
	for name, fall := range map[string]func(release, cancel func()){
		"released, then cancelled": func(release, cancel func()) { release(); cancel() },
		"cancelled, then released": func(release, cancel func()) { cancel(); release() },
		"both at once":             func(release, cancel func()) { go release(); go cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				synctest.Test(t, func(t *testing.T) {
					locker := memory.NewLocker()
					lock := mustTry(t, locker)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					doomed := acquire(ctx, locker)
					synctest.Wait()
					next := acquire(t.Context(), locker)
					synctest.Wait()

					fall(func() { _ = lock.Release(t.Context()) }, cancel)
					if got := <-doomed; got.err == nil {
						require.NoError(t, got.lock.Release(t.Context()))
					} else {
						require.ErrorIs(t, got.err, context.Canceled)
						require.ErrorIs(t, got.err, relay.ErrNotAcquired)
					}
					got := <-next
					require.NoError(t, got.err, "the lock went to nobody and is held for ever")
					require.NoError(t, got.lock.Release(t.Context()))
					require.NoError(t, mustTry(t, locker).Release(t.Context()))
				})
			}
		})
	}
}

// A bubble ends only when all its goroutines have: what Acquire started is seen
// here if it stays.
func TestLocker_LeavesNoGoroutineBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := memory.NewLocker()
		lock := mustTry(t, locker)
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := locker.Acquire(ctx, "job")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		require.NoError(t, lock.Release(t.Context()))
	})
}

func TestLocker_OneHolderAtATimeUnderStress(t *testing.T) {
	const goroutines, turns, names = 16, 200, 3
	var locker memory.Locker
	var counts [names]int // each is guarded by the lock of its name: -race sees a breach
	var holders [names]atomic.Int32
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for turn := range turns {
				n := (g + turn) % names
				ctx, cancel := context.WithCancel(t.Context())
				if turn%5 == 0 {
					go cancel() // it may or may not get its turn
				}
				lock, err := locker.Acquire(ctx, fmt.Sprint("job ", n))
				cancel()
				if err != nil {
					continue
				}
				counts[n]++
				if holders[n].Add(1) != 1 {
					t.Error("two holders of one lock at a time")
				}
				holders[n].Add(-1)
				_ = lock.Release(t.Context())
			}
		})
	}
	wg.Wait()
	for n := range names {
		_, err := locker.TryAcquire(t.Context(), fmt.Sprint("job ", n))
		require.NoError(t, err, "all have released it")
		require.NotZero(t, counts[n])
	}
}

func mustTry(t *testing.T, locker *memory.Locker) relay.Lock {
	t.Helper()
	lock, err := locker.TryAcquire(t.Context(), "job")
	require.NoError(t, err)
	return lock
}

type acquired struct {
	lock relay.Lock
	err  error
}

func acquire(ctx context.Context, locker *memory.Locker) <-chan acquired {
	got := make(chan acquired, 1)
	go func() {
		lock, err := locker.Acquire(ctx, "job")
		got <- acquired{lock, err}
	}()
	return got
}
