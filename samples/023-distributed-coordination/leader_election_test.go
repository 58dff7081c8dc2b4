package coordination_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

func newElector(t *testing.T, locker relay.Locker) *relay.LockElector {
	t.Helper()
	elector, err := relay.NewLockElector(locker, relay.LockElectorConfig{})
	require.NoError(t, err)
	return elector
}

func TestElection_ElectedWorkRuns(t *testing.T) {
	lock := NewFakeLock()
	ran := false

	err := newElector(t, lock).Run(t.Context(), "reports", func(context.Context) error {
		ran = true
		return nil
	})

	require.NoError(t, err)
	require.True(t, ran, "whoever gets the lock runs the work")
	require.Equal(t, []string{"leader:reports"}, lock.Asked(), "a role is a lock of its own")
}

func TestElection_RetriesPastDenialsUntilItWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := NewFakeLock(false, false, true)
		began, runs := time.Now(), 0

		err := newElector(t, lock).Run(t.Context(), "reports", func(context.Context) error {
			runs++
			return nil
		})

		require.NoError(t, err)
		require.Equal(t, 1, runs, "a denied instance runs nothing")
		require.Len(t, lock.Asked(), 3, "and asks again until it wins")
		require.GreaterOrEqual(t, time.Since(began), 5*time.Second, "after a pause of 2.5 s to 5 s each time, not in a busy loop")
		require.LessOrEqual(t, time.Since(began), 10*time.Second)
	})
}

func TestElection_WorkIsToldThatTheLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := NewFakeLock()
		terms := 0

		err := newElector(t, lock).Run(t.Context(), "reports", func(ctx context.Context) error {
			if terms++; terms > 1 {
				return nil
			}
			lock.Lose() // the session of the lock has died
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), relay.ErrLost, "the context says why the work must stop")
			return ctx.Err()
		})

		require.NoError(t, err)
		require.Equal(t, 2, terms, "after a loss it stands for election again")
	})
}

func TestElection_StopsWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shutdown := errors.New("shutting down")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { stop(shutdown) })
		lock := NewFakeLock()

		err := newElector(t, lock).Run(ctx, "reports", func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second) // finishes what it has begun
			require.False(t, lock.Released(), "the lock is never given up under the work")
			return nil
		})

		require.Equal(t, shutdown, err, "Run returns why it was stopped")
		require.True(t, lock.Released(), "and gives the lock up before it does")
	})
}

func TestElection_LoopRunsEveryFiveMinutesAndEndsWhenItIsAskedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(12*time.Minute, stop)
		began, lock, reports := time.Now(), NewFakeLock(), 0
		writeReport := func(context.Context) error {
			if reports++; reports > 100 {
				return errors.New("nothing stops this loop")
			}
			return nil
		}

		//docgen:begin loop
		err := newElector(t, lock).Run(ctx, "reports", func(ctx context.Context) error {
			for {
				if err := writeReport(ctx); err != nil {
					return err
				}
				select {
				case <-time.After(5 * time.Minute):
				case <-ctx.Done(): // asked to stop, or no longer the leader
					return nil
				}
			}
		})
		//docgen:end loop

		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 3, reports, "at once, after five minutes and after ten")
		require.Equal(t, 12*time.Minute, time.Since(began), "the shutdown waits for nothing")
		require.True(t, lock.Released())
	})
}

// The twin: a loop that looks at its context only after its nap.
func TestElection_LoopThatSleepsHoldsUpTheShutdownAndTheNextLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(12*time.Minute, stop)
		began, lock := time.Now(), NewFakeLock()

		err := newElector(t, lock).Run(ctx, "reports", func(ctx context.Context) error {
			for ctx.Err() == nil {
				time.Sleep(5 * time.Minute)
			}
			return nil
		})

		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 15*time.Minute, time.Since(began), "asked to stop after 12 minutes, it keeps the lock for three more")
	})
}

func TestElection_LeadershipEndsWhenTheWorkReturns(t *testing.T) {
	failed, lock := errors.New("no disk space"), NewFakeLock()
	err := newElector(t, lock).Run(t.Context(), "reports", func(context.Context) error { return failed })
	require.Equal(t, failed, err, "Run returns the work's error, for the caller to decide")
	require.True(t, lock.Released(), "and the role is free for others")
}

func TestElection_LeaderMayStepDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := NewFakeLock()
		terms, steppedDown := 0, time.Time{}

		err := newElector(t, lock).Run(t.Context(), "reports", func(context.Context) error {
			if terms++; terms == 1 {
				steppedDown = time.Now()
				return relay.ErrResign
			}
			require.Equal(t, 5*time.Second, time.Since(steppedDown), "it leaves the others a whole retry interval")
			return nil
		})

		require.NoError(t, err)
		require.Equal(t, 2, terms)
	})
}
