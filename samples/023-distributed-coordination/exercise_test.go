package coordination_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

// exportWithin waits for its turn, but no longer than patience, and then leaves
// the job to whoever has it.
func exportWithin(ctx context.Context, locker relay.Locker, patience time.Duration, run func(context.Context) error) (ran bool, err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := locker.Acquire(waiting, "nightly-export")
	switch {
	case errors.Is(err, relay.ErrNotAcquired) && ctx.Err() == nil:
		return false, nil // patience has run out, and ctx has not
	case err != nil:
		return false, err
	}
	defer func() { err = errors.Join(err, lock.Release(ctx)) }()
	return true, run(ctx) // not waiting: that bounds the wait, not the work
}

func TestExportWithin_BoundsTheWaitAndNotTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := memory.NewLocker()
		work := func(ctx context.Context) error {
			select {
			case <-time.After(time.Minute):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		held, began := hold(t, locker, export), time.Now()

		ran, err := exportWithin(t.Context(), locker, 2*time.Second, work)
		require.NoError(t, err)
		require.False(t, ran)
		require.Equal(t, 2*time.Second, time.Since(began), "it has waited as long as it was told, and skips the job")

		time.AfterFunc(time.Second, func() { _ = held.Release(context.Background()) })
		ran, err = exportWithin(t.Context(), locker, 2*time.Second, work)
		require.NoError(t, err, "the work takes a minute, with two seconds of patience")
		require.True(t, ran, "the lock came free in time")

		stopped, stop := context.WithCancel(t.Context())
		stop()
		_, err = exportWithin(stopped, locker, 2*time.Second, work)
		require.ErrorIs(t, err, context.Canceled, "a shutdown is not patience that has run out")
	})
}
