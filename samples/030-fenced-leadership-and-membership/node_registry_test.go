package leadership_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

const livenessTTL = 30 * time.Second

func newRegistry(*testing.T) (*ManualClock, *memory.NodeRegistry) {
	clock := NewManualClock()
	return clock, memory.NewNodeRegistry(livenessTTL, clock.Now)
}

func beat(t *testing.T, nodes relay.NodeRegistry, names ...string) {
	t.Helper()
	for _, name := range names {
		require.NoError(t, nodes.Heartbeat(t.Context(), name))
	}
}

func live(t *testing.T, nodes relay.NodeRegistry) []string {
	t.Helper()
	names, err := nodes.LiveNodes(t.Context())
	require.NoError(t, err)
	return names
}

func TestRegistry_HeartbeatMakesANodeLive(t *testing.T) {
	_, nodes := newRegistry(t)
	require.Empty(t, live(t, nodes))

	beat(t, nodes, "node-a")

	require.Equal(t, []string{"node-a"}, live(t, nodes))
}

func TestRegistry_NodeLapsesOnceItsHeartbeatIsOlderThanTheTTL(t *testing.T) {
	clock, nodes := newRegistry(t)
	beat(t, nodes, "node-a")

	clock.Advance(livenessTTL)
	require.Equal(t, []string{"node-a"}, live(t, nodes), "a heartbeat that is exactly the TTL old still counts")

	clock.Advance(1)
	require.Empty(t, live(t, nodes), "an older one does not")
}

func TestRegistry_HeartbeatRefreshesANode(t *testing.T) {
	clock, nodes := newRegistry(t)
	for range 10 {
		beat(t, nodes, "node-a")
		clock.Advance(livenessTTL)
		require.Equal(t, []string{"node-a"}, live(t, nodes), "a node lives as long as it goes on beating")
	}
}

func TestRegistry_LiveNodesAreSorted(t *testing.T) {
	_, nodes := newRegistry(t)
	beat(t, nodes, "node-c", "node-a", "node-b", "node-a")
	require.Equal(t, []string{"node-a", "node-b", "node-c"}, live(t, nodes), "every caller sees one order, and a node once")
}

func TestRegistry_LeaveRemovesANodeAtOnce(t *testing.T) {
	_, nodes := newRegistry(t)
	beat(t, nodes, "node-a", "node-b")

	require.NoError(t, nodes.Leave(t.Context(), "node-a"))
	require.Equal(t, []string{"node-b"}, live(t, nodes), "a node that says good-bye is not waited for")
	require.NoError(t, nodes.Leave(t.Context(), "node-a"), "leaving twice is no error")

	beat(t, nodes, "node-a")
	require.Equal(t, []string{"node-a", "node-b"}, live(t, nodes), "a heartbeat after that is a new join")
}

func TestRegistry_BusyNodeStaysLiveBecauseItsHeartbeatHasAGoroutineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := memory.NewNodeRegistry(livenessTTL, nil)
		ctx, stop := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- relay.KeepAlive(ctx, nodes, "node-a", relay.KeepAliveConfig{}) }()

		time.Sleep(time.Hour) // the node works and thinks of nothing else
		require.Equal(t, []string{"node-a"}, live(t, nodes))

		stop()
		require.ErrorIs(t, <-left, context.Canceled)
		require.Empty(t, live(t, nodes), "at the end it leaves, so that nobody waits out the TTL")
	})
}

func TestRegistry_LowestLiveNodeIsNoLeaderElection(t *testing.T) {
	clock, nodes := newRegistry(t)
	lowest := func(seen []string) string { return seen[0] }

	beat(t, nodes, "node-b")
	seenByB := live(t, nodes) // node-b looks just before node-a joins
	beat(t, nodes, "node-a")
	seenByA := live(t, nodes)
	require.Equal(t, "node-a", lowest(seenByA))
	require.Equal(t, "node-b", lowest(seenByB), "two leaders, while their views differ")

	// A lease has no such moment: one of them is refused.
	leases := memory.NewLeaseStore(clock.Now)
	acquire(t, leases, lowest(seenByA))
	_, err := leases.TryAcquireOrRenew(t.Context(), role, lowest(seenByB), ttl)
	require.ErrorIs(t, err, relay.ErrNotAcquired, "LiveNodes is a hint; leadership takes a lease")
}

func TestRegistry_LiveNodesFeedAssign(t *testing.T) {
	const partitions = 12
	clock, nodes := newRegistry(t)
	beat(t, nodes, "node-a", "node-b", "node-c")
	before := relay.Assign(partitions, live(t, nodes))
	for _, name := range live(t, nodes) {
		require.Len(t, before[name], 4, "the partitions are shared out evenly")
	}

	clock.Advance(livenessTTL + 1)
	beat(t, nodes, "node-a", "node-b") // node-c is gone
	after := relay.Assign(partitions, live(t, nodes))
	require.Len(t, after["node-a"], 6)
	require.Len(t, after["node-b"], 6)
	kept := 0
	for _, name := range []string{"node-a", "node-b"} {
		for _, partition := range before[name] {
			if slices.Contains(after[name], partition) {
				kept++
			}
		}
	}
	require.GreaterOrEqual(t, kept, 6, "of the eight partitions of those who stay, few move")

	// A node that has not seen node-c go, and one that has, both own partitions
	// by their own view.
	orphaned := before["node-c"][0]
	require.True(t, slices.Contains(after["node-a"], orphaned) || slices.Contains(after["node-b"], orphaned),
		"while views differ two nodes claim one partition: exclusive ownership takes a lease for each")
}
