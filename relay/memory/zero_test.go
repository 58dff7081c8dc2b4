package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

func TestZeroValues_AreReady(t *testing.T) {
	var leases memory.LeaseStore
	_, err := leases.Current(t.Context(), "role")
	require.ErrorIs(t, err, relay.ErrNotHeld)
	lease, err := leases.TryAcquireOrRenew(t.Context(), "role", "me", time.Minute)
	require.NoError(t, err)
	require.Equal(t, relay.Token(1), lease.Token)

	var nodes memory.NodeRegistry
	require.NoError(t, nodes.Leave(t.Context(), "a"))
	require.NoError(t, nodes.Heartbeat(t.Context(), "a"))
	live, err := nodes.LiveNodes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, live)

	var locker memory.Locker
	lock, err := locker.TryAcquire(t.Context(), "name")
	require.NoError(t, err)
	require.NoError(t, lock.Release(t.Context()))
}
