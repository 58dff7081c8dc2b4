package relay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

// spyRegistry counts what KeepAlive asks of it and may answer for the registry.
type spyRegistry struct {
	relay.NodeRegistry
	beats, leaves atomic.Int32
	heartbeat     func(ctx context.Context, n int32) error
	leave         func(ctx context.Context) error
}

func (r *spyRegistry) Heartbeat(ctx context.Context, node string) error {
	if n := r.beats.Add(1); r.heartbeat != nil {
		if err := r.heartbeat(ctx, n); err != nil {
			return err
		}
	}
	return r.NodeRegistry.Heartbeat(ctx, node)
}

func (r *spyRegistry) Leave(ctx context.Context, node string) error {
	r.leaves.Add(1)
	if r.leave != nil {
		return r.leave(ctx)
	}
	return r.NodeRegistry.Leave(ctx, node)
}

func newSpyRegistry() *spyRegistry {
	return &spyRegistry{NodeRegistry: memory.NewNodeRegistry(0, nil)}
}

func liveNodes(t *testing.T, r relay.NodeRegistry) []string {
	t.Helper()
	nodes, err := r.LiveNodes(context.Background())
	require.NoError(t, err)
	return nodes
}

func TestKeepAlive_KeepsANodeLiveUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := newSpyRegistry()
		stop := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		log := &eventLog{}
		done := start(func() error {
			return relay.KeepAlive(ctx, registry, "node-a", relay.KeepAliveConfig{Observer: log.observe})
		})
		synctest.Wait()
		require.Equal(t, []string{"node-a"}, liveNodes(t, registry), "it beats at once")
		time.Sleep(10*time.Minute + time.Second)
		require.Equal(t, []string{"node-a"}, liveNodes(t, registry))
		require.EqualValues(t, 61, registry.beats.Load(), "and every 10 s by default")

		cancel(stop)
		require.Equal(t, stop, <-done)
		require.Empty(t, liveNodes(t, registry), "at the end it leaves, so that nobody waits out the TTL")
		require.EqualValues(t, 1, registry.leaves.Load())
		require.Len(t, log.of(relay.EventReleased), 1)
		require.Empty(t, log.of(relay.EventFailed))
	})
}

func TestKeepAlive_GoesOnAfterAHeartbeatThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry, log := newSpyRegistry(), &eventLog{}
		registry.heartbeat = func(_ context.Context, n int32) error {
			if n == 2 || n == 3 {
				return errStoreDown
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute-1)
		defer cancel()
		err := relay.KeepAlive(ctx, registry, "node-a", relay.KeepAliveConfig{Observer: log.observe})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualValues(t, 6, registry.beats.Load())
		require.Len(t, log.of(relay.EventFailed), 2)
		require.ErrorIs(t, log.of(relay.EventFailed)[0].Err, errStoreDown)
	})
}

func TestKeepAlive_BoundsEachCallByTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry, log := newSpyRegistry(), &eventLog{}
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		registry.heartbeat = func(ctx context.Context, _ int32) error { return hang(ctx) }
		registry.leave = hang
		ctx, cancel := context.WithCancel(t.Context())
		done := start(func() error {
			return relay.KeepAlive(ctx, registry, "node-a", relay.KeepAliveConfig{Interval: time.Second, Observer: log.observe})
		})
		time.Sleep(10*time.Second + time.Millisecond)
		require.EqualValues(t, 11, registry.beats.Load(), "a heartbeat that hangs is given up for the next one")
		cancel()
		stopped := time.Now()
		require.ErrorIs(t, <-done, context.Canceled)
		require.LessOrEqual(t, time.Since(stopped), 2*time.Second, "the last heartbeat and the leave are detached from the context that ended, and bounded")
		for _, e := range log.of(relay.EventFailed) {
			require.ErrorIs(t, e.Err, context.DeadlineExceeded)
		}
		require.Len(t, log.of(relay.EventFailed), 12, "11 heartbeats and the leave")
	})
}

func TestKeepAlive_LeavesNoGhostBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := newSpyRegistry()
		ctx, cancel := context.WithCancel(t.Context())
		registry.heartbeat = func(call context.Context, n int32) error {
			if n != 2 {
				return nil
			}
			cancel() // while the heartbeat is on its way; it arrives, waited for or not
			arrived := make(chan error, 1)
			time.AfterFunc(time.Second, func() {
				arrived <- registry.NodeRegistry.Heartbeat(context.Background(), "node-a")
			})
			select {
			case err := <-arrived:
				return err
			case <-call.Done():
				return call.Err()
			}
		}
		require.ErrorIs(t, relay.KeepAlive(ctx, registry, "node-a", relay.KeepAliveConfig{}), context.Canceled)
		time.Sleep(2 * time.Second)
		require.Empty(t, liveNodes(t, registry), "a heartbeat under way arrives before the node leaves, not after")
		require.EqualValues(t, 2, registry.beats.Load())
	})
}

func TestKeepAlive_WithAContextThatHasEndedDoesNothing(t *testing.T) {
	registry := newSpyRegistry()
	stop := errors.New("stopped before it began")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	require.Equal(t, stop, relay.KeepAlive(ctx, registry, "node-a", relay.KeepAliveConfig{}))
	require.EqualValues(t, 0, registry.beats.Load())
	require.EqualValues(t, 0, registry.leaves.Load(), "a node that this call never kept alive is not made to leave")
}

func TestKeepAlive_RefusesMisuse(t *testing.T) {
	registry := newSpyRegistry()
	require.ErrorContains(t, relay.KeepAlive(t.Context(), nil, "node-a", relay.KeepAliveConfig{}), "NodeRegistry is nil")
	require.ErrorContains(t, relay.KeepAlive(t.Context(), registry, "node-a", relay.KeepAliveConfig{Interval: -1}), "Interval -1ns is negative")
	require.ErrorIs(t, relay.KeepAlive(t.Context(), registry, "", relay.KeepAliveConfig{}), relay.ErrInvalidName)
	require.EqualValues(t, 0, registry.beats.Load())
}
