package coordination_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

// A node joins, and the nodes hear of it at different times.

func TestAssign_NodesThatSeeDifferentMembersClaimOnePartitionTwice(t *testing.T) {
	before, after := []string{"node-a", "node-b"}, []string{"node-a", "node-b", "node-c"}

	stale := relay.Assign(8, before)["node-a"] // has not heard of node-c
	joined := relay.Assign(8, after)["node-c"] // has

	both := slices.DeleteFunc(joined, func(partition int) bool { return !slices.Contains(stale, partition) })
	require.NotEmpty(t, both, "an assignment is a plan; it keeps nobody out")
}

// The twin: whoever works on a partition leads its role. A plan that is out of
// date then costs a wait, and no second owner.
func TestHandOver_ALeasePerPartitionKeepsOneOwnerWhileANodeJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases, owners := memory.NewLeaseStore(nil), &owners{of: map[int][]string{}}
		two, three := []string{"node-a", "node-b"}, []string{"node-a", "node-b", "node-c"}

		stopA := owners.start(t, leases, "node-a", two)
		stopB := owners.start(t, leases, "node-b", two)
		synctest.Wait()
		require.Equal(t, plan(two), owners.now())

		stopC := owners.start(t, leases, "node-c", three)
		time.Sleep(time.Hour)
		require.Equal(t, plan(two), owners.now(), "node-c claims what the others have, and waits")

		stopA() // node-a has heard of node-c, and starts anew
		stopA = owners.start(t, leases, "node-a", three)
		stopB() // and so does node-b
		stopB = owners.start(t, leases, "node-b", three)
		time.Sleep(time.Minute)
		require.Equal(t, plan(three), owners.now(), "each partition has gone to its new owner, without ever having had two")

		stopA()
		stopB()
		stopC()
	})
}

// plan says who owns what once all see the same nodes.
func plan(nodes []string) map[int][]string {
	planned := map[int][]string{}
	for node, partitions := range relay.Assign(8, nodes) {
		for _, partition := range partitions {
			planned[partition] = []string{node}
		}
	}
	return planned
}

// owners notes who works on each partition.
type owners struct {
	mu sync.Mutex // guards of
	of map[int][]string
}

// start makes a node stand for each partition that its plan gives it. The
// function that it returns ends that, and waits until all are given up.
func (o *owners) start(t *testing.T, leases relay.LeaseStore, node string, nodes []string) (stop func()) {
	t.Helper()
	elector, err := relay.NewLeaseElector(leases, relay.LeaseElectorConfig{Owner: node})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for _, partition := range relay.Assign(8, nodes)[node] {
		working.Go(func() {
			_ = elector.Run(ctx, fmt.Sprintf("orders/%d", partition), func(ctx context.Context, _ relay.Term) error {
				o.enter(t, partition, node)
				defer o.leave(partition)
				<-ctx.Done() // works on the partition's orders
				return nil
			})
		})
	}
	return func() {
		cancel()
		working.Wait()
	}
}

func (o *owners) enter(t *testing.T, partition int, node string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if others := o.of[partition]; len(others) > 0 {
		t.Errorf("%s and %v work on partition %d at once", node, others, partition)
	}
	o.of[partition] = append(o.of[partition], node)
}

func (o *owners) leave(partition int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.of, partition)
}

// now returns who works on what.
func (o *owners) now() map[int][]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := map[int][]string{}
	for partition, nodes := range o.of {
		now[partition] = slices.Clone(nodes)
	}
	return now
}
