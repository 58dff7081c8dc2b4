package leadership_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

// Worker does what the coordinator's plan says. The plan is what a stale
// coordinator could spoil, so the fence stands here.
type Worker struct {
	mu         sync.Mutex // makes check and change one step; guards what follows
	fence      relay.Fence
	partitions []int
}

// TakePlan replaces the worker's partitions unless a later coordinator has sent
// a plan already.
func (w *Worker) TakePlan(token relay.Token, partitions []int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fence.Admit(token); err != nil {
		return err
	}
	w.partitions = partitions
	return nil
}

// Partitions returns what the worker works on.
func (w *Worker) Partitions() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.partitions
}

func TestCoordinator_PlanOfAStaleOneIsRefusedByItsWorkers(t *testing.T) {
	const partitions = 12
	clock, leases := newLeases(t)
	_, nodes := newRegistry(t)
	workers := map[string]*Worker{"node-a": {}, "node-b": {}, "node-c": {}}
	beat(t, nodes, "node-a", "node-b", "node-c")

	// The first coordinator plans for three nodes, and freezes before it sends.
	first := acquire(t, leases, "node-a")
	stale := relay.Assign(partitions, live(t, nodes))

	// Its lease lapses. The next one plans for the two that are left.
	clock.Advance(ttl)
	require.NoError(t, nodes.Leave(t.Context(), "node-c"))
	second := acquire(t, leases, "node-b")
	plan := relay.Assign(partitions, live(t, nodes))
	for name, share := range plan {
		require.NoError(t, workers[name].TakePlan(second.Token, share))
	}

	// The first one wakes up and sends what it had planned.
	for name := range plan {
		require.ErrorIs(t, workers[name].TakePlan(first.Token, stale[name]), relay.ErrStaleToken)
		require.Equal(t, plan[name], workers[name].Partitions(), "a worker follows the latest coordinator that it has heard of")
	}

	// node-c has heard of no other plan: a fence orders the plans of one worker,
	// not those of all.
	require.NoError(t, workers["node-c"].TakePlan(first.Token, stale["node-c"]))
	require.NotEmpty(t, workers["node-c"].Partitions(), "so it works on partitions that others have: it needs a lease for each, or work that bears it")
}
