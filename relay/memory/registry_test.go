package memory_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

func TestNodeRegistry_NoTTLIsTheDefault(t *testing.T) {
	for _, ttl := range []time.Duration{0, -1} {
		clock := newClock()
		nodes := memory.NewNodeRegistry(ttl, clock.Now)
		require.NoError(t, nodes.Heartbeat(t.Context(), "n1"))
		clock.Advance(relay.DefaultLivenessTTL)
		require.Equal(t, []string{"n1"}, live(t, nodes))
		clock.Advance(1)
		require.Empty(t, live(t, nodes))
	}
}

func TestNodeRegistry_NoNodesIsAnEmptyList(t *testing.T) {
	require.NotNil(t, live(t, memory.NewNodeRegistry(0, nil)))
}

// An entry that has lapsed is in no list, so whether it is still there shows
// only when the clock goes back.
func TestNodeRegistry_AHeartbeatForgetsWhoIsOlderThanTenTTLs(t *testing.T) {
	const ttl = time.Second
	for name, c := range map[string]struct {
		after time.Duration
		want  []string
	}{
		"ten TTLs old: kept":            {10 * ttl, []string{"new", "old"}},
		"older than that: forgotten":    {10*ttl + 10, []string{"new"}},
		"much older: forgotten as well": {1000 * ttl, []string{"new"}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			nodes := memory.NewNodeRegistry(ttl, clock.Now)
			require.NoError(t, nodes.Heartbeat(t.Context(), "old"))
			clock.Advance(c.after)
			require.NoError(t, nodes.Heartbeat(t.Context(), "new"))
			require.Equal(t, []string{"new"}, live(t, nodes))
			clock.Advance(-c.after)
			require.Equal(t, c.want, live(t, nodes))
		})
	}
}

func TestNodeRegistry_AnEndlessTTLForgetsNobody(t *testing.T) {
	clock := newClock()
	nodes := memory.NewNodeRegistry(math.MaxInt64, clock.Now)
	require.NoError(t, nodes.Heartbeat(t.Context(), "n1"))
	clock.Advance(time.Hour)
	require.NoError(t, nodes.Heartbeat(t.Context(), "n2"))
	require.Equal(t, []string{"n1", "n2"}, live(t, nodes))
}

func TestNodeRegistry_AClockThatGoesBackLosesNobody(t *testing.T) {
	clock := newClock()
	nodes := memory.NewNodeRegistry(time.Second, clock.Now)
	require.NoError(t, nodes.Heartbeat(t.Context(), "n1"))
	clock.Advance(-time.Hour)
	require.NoError(t, nodes.Heartbeat(t.Context(), "n2"))
	require.Equal(t, []string{"n1", "n2"}, live(t, nodes))
}

func live(t *testing.T, nodes *memory.NodeRegistry) []string {
	t.Helper()
	list, err := nodes.LiveNodes(t.Context())
	require.NoError(t, err)
	return list
}
