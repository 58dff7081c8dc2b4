package relay_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

func TestLockElector_RunsElectedWorkUnderTheRolesLock(t *testing.T) {
	locker := &scriptedLocker{}
	e := newLockElector(t, locker, relay.LockElectorConfig{})
	for _, want := range []error{nil, errors.New("disk full")} {
		err := e.Run(t.Context(), "reports", func(context.Context) error { return want })
		require.Equal(t, want, err)
	}
	require.Equal(t, []string{"leader:reports", "leader:reports"}, locker.names)
	require.Equal(t, 1, locker.granted[0].released, "the lock is given up before Run returns")
	require.Equal(t, 1, locker.granted[1].released)
}

func TestLockElector_TriesAgainAfterDenialsAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := &scriptedLocker{script: []error{relay.ErrNotAcquired, errStoreDown, relay.ErrNotAcquired}}
		log := &eventLog{}
		e := newLockElector(t, locker, relay.LockElectorConfig{Observer: log.observe, Jitter: longest})
		began, runs := time.Now(), 0
		require.NoError(t, e.Run(t.Context(), "reports", func(context.Context) error { runs++; return nil }))
		require.Equal(t, 1, runs)
		require.Equal(t, 15*time.Second, time.Since(began), "each denial and each error is followed by a pause of at most P")
		require.Len(t, log.of(relay.EventDenied), 2)
		require.Len(t, log.of(relay.EventFailed), 1)
		require.Len(t, log.of(relay.EventElected), 1)
		require.Len(t, log.of(relay.EventReleased), 1)
	})
}

func TestLockElector_LossEndsTheWorkAndItCampaignsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker, log := &scriptedLocker{}, &eventLog{}
		e := newLockElector(t, locker, relay.LockElectorConfig{Observer: log.observe})
		terms := 0
		err := e.Run(t.Context(), "reports", func(ctx context.Context) error {
			if terms++; terms == 2 {
				return nil
			}
			locker.lose(0)
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), relay.ErrLost)
			require.Empty(t, locker.granted[0].released, "the work winds down first")
			return errors.New("stopped half-way")
		})
		require.NoError(t, err, "after a loss it is elected anew, whatever the work returned")
		require.Equal(t, 2, terms)
		require.Equal(t, 1, locker.granted[0].released, "a lost lock is released too, to free what it holds here")
		require.Len(t, log.of(relay.EventLost), 1)
		require.ErrorContains(t, log.of(relay.EventFailed)[0].Err, "stopped half-way")
	})
}

func TestLockElector_StepsDownAndStandsAgainAfterAFullRetryInterval(t *testing.T) {
	for _, stepDown := range []error{relay.ErrResign, fmt.Errorf("write: %w", relay.ErrStaleToken)} {
		synctest.Test(t, func(t *testing.T) {
			locker := &scriptedLocker{}
			e := newLockElector(t, locker, relay.LockElectorConfig{
				HoldAtLeast: time.Hour,
				Jitter:      func(time.Duration) time.Duration { return 0 },
			})
			terms := 0
			require.NoError(t, e.Run(t.Context(), "reports", func(context.Context) error {
				if terms++; terms == 1 {
					return stepDown
				}
				return nil
			}))
			require.Equal(t, 5*time.Second, locker.acquired[1].Sub(locker.acquired[0]))
		})
	}
}

func TestLockElector_WindsDownBeforeItReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("shutting down")
		locker := memory.NewLocker()
		ctx, cancel := context.WithCancelCause(t.Context())
		log := &eventLog{}
		e := newLockElector(t, locker, relay.LockElectorConfig{Observer: log.observe})
		err := e.Run(ctx, "reports", func(ctx context.Context) error {
			cancel(stop)
			<-ctx.Done()
			require.Equal(t, stop, context.Cause(ctx))
			time.Sleep(time.Minute)
			_, err := locker.TryAcquire(context.Background(), "leader:reports")
			require.ErrorIs(t, err, relay.ErrNotAcquired, "the lock is never released under its work")
			return errors.New("could not flush")
		})
		require.Equal(t, stop, err)
		require.ErrorContains(t, log.of(relay.EventFailed)[0].Err, "could not flush")
		lock, err := locker.TryAcquire(t.Context(), "leader:reports")
		require.NoError(t, err)
		require.NoError(t, lock.Release(t.Context()))
	})
}

func TestLockElector_ReleasesWhenTheWorkPanicsOrExits(t *testing.T) {
	locker := &scriptedLocker{}
	e := newLockElector(t, locker, relay.LockElectorConfig{})
	require.PanicsWithValue(t, "boom", func() {
		_ = e.Run(t.Context(), "reports", func(context.Context) error { panic("boom") })
	})
	require.Equal(t, 1, locker.granted[0].released)

	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = e.Run(t.Context(), "reports", func(context.Context) error { runtime.Goexit(); return nil })
		t.Error("Goexit of the work must end the goroutine that called Run")
	}()
	<-exited
	require.Equal(t, 1, locker.granted[1].released)
}

func TestLockElector_HoldAtLeastKeepsTheLock(t *testing.T) {
	done, stop := errors.New("done"), errors.New("shutting down")
	run := func(ctx context.Context, t *testing.T, locker *scriptedLocker) (took time.Duration, err error) {
		began := time.Now()
		e := newLockElector(t, locker, relay.LockElectorConfig{HoldAtLeast: time.Minute})
		err = e.Run(ctx, "nightly", func(context.Context) error { time.Sleep(time.Second); return done })
		require.Equal(t, 1, locker.granted[0].released)
		return time.Since(began), err
	}
	synctest.Test(t, func(t *testing.T) {
		took, err := run(t.Context(), t, &scriptedLocker{})
		require.Equal(t, done, err)
		require.Equal(t, time.Minute, took, "counted from the grant")
	})
	synctest.Test(t, func(t *testing.T) {
		locker := &scriptedLocker{}
		time.AfterFunc(10*time.Second, func() { locker.lose(0) })
		took, err := run(t.Context(), t, locker)
		require.Equal(t, done, err, "loss cuts it short; the job has run")
		require.Equal(t, 10*time.Second, took)
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(stop) })
		took, err := run(ctx, t, &scriptedLocker{})
		require.Equal(t, stop, err, "the end of ctx cuts it short and is what Run returns")
		require.Equal(t, 10*time.Second, took)
	})
}

func TestLockElector_AGrantThatComesAfterTheEndOfItsContextRunsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	locker := &scriptedLocker{}
	e := newLockElector(t, lateLocker{locker, cancel}, relay.LockElectorConfig{})
	err := e.Run(ctx, "reports", func(context.Context) error {
		t.Error("the work ran after its context had ended")
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, locker.granted[0].released)
}

// lateLocker's context ends while it grants.
type lateLocker struct {
	*scriptedLocker
	cancel context.CancelFunc
}

func (l lateLocker) Acquire(ctx context.Context, name string) (relay.Lock, error) {
	l.cancel()
	return l.scriptedLocker.Acquire(ctx, name)
}

func TestLockElector_RefusesMisuse(t *testing.T) {
	_, err := relay.NewLockElector(nil, relay.LockElectorConfig{})
	require.ErrorContains(t, err, "Locker is nil")
	locker := &scriptedLocker{}
	_, err = relay.NewLockElector(locker, relay.LockElectorConfig{RetryInterval: -1})
	require.ErrorContains(t, err, "RetryInterval -1ns is negative")
	_, err = relay.NewLockElector(locker, relay.LockElectorConfig{HoldAtLeast: -1})
	require.ErrorContains(t, err, "HoldAtLeast -1ns is negative")

	e := newLockElector(t, locker, relay.LockElectorConfig{})
	work := func(context.Context) error { return nil }
	for _, role := range []string{"", strings.Repeat("r", 249), "a\x00b", "a\xffb"} {
		require.ErrorIs(t, e.Run(t.Context(), role, work), relay.ErrInvalidName)
	}
	require.ErrorContains(t, e.Run(t.Context(), "reports", nil), "lead is nil")
	require.ErrorContains(t, (&relay.LockElector{}).Run(t.Context(), "reports", work), "NewLockElector")
	require.ErrorContains(t, (*relay.LockElector)(nil).Run(t.Context(), "reports", work), "NewLockElector")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, e.Run(ctx, "reports", work), context.Canceled)
	require.Empty(t, locker.names, "nothing was asked of the locker")
}
