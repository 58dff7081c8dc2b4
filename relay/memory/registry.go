package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

var _ relay.NodeRegistry = (*NodeRegistry)(nil)

// forgetAfter is how many liveness TTLs after its last heartbeat a node's entry
// is deleted. It has lapsed long before; only the name would still take room.
const forgetAfter = 10

// NodeRegistry lists the nodes that send heartbeats to it. The zero value is
// ready, on time.Now and with relay.DefaultLivenessTTL; a NodeRegistry must not
// be copied.
type NodeRegistry struct {
	ttl time.Duration // 0 is relay.DefaultLivenessTTL
	now clock

	mu    sync.Mutex           // guards beats
	beats map[string]time.Time // the last heartbeat of each node
}

// NewNodeRegistry returns an empty registry in which a node is live until its
// last heartbeat is older than livenessTTL. 0 or less is
// relay.DefaultLivenessTTL. The clock is now, or time.Now for nil; it is called
// from any goroutine, one call at a time, and must not call the registry.
func NewNodeRegistry(livenessTTL time.Duration, now func() time.Time) *NodeRegistry {
	return &NodeRegistry{ttl: max(livenessTTL, 0), now: now}
}

func (r *NodeRegistry) livenessTTL() time.Duration { return cmp.Or(r.ttl, relay.DefaultLivenessTTL) }

// Heartbeat says that node is alive now. It also forgets the nodes whose last
// heartbeat is more than ten liveness TTLs old.
func (r *NodeRegistry) Heartbeat(ctx context.Context, node string) error {
	if err := relay.ValidateName(node); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now.time()
	maps.DeleteFunc(r.beats, func(_ string, beat time.Time) bool {
		return now.Sub(beat)/forgetAfter > r.livenessTTL() // not ttl * forgetAfter, which can overflow
	})
	if r.beats == nil {
		r.beats = make(map[string]time.Time)
	}
	r.beats[node] = now
	return nil
}

// Leave removes node at once. It is nil for a node that is not known.
func (r *NodeRegistry) Leave(ctx context.Context, node string) error {
	if err := relay.ValidateName(node); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.beats, node)
	return nil
}

// LiveNodes returns the live nodes, sorted bytewise. A node whose last
// heartbeat is exactly one liveness TTL old is still live. The list is never
// nil on success.
func (r *NodeRegistry) LiveNodes(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now.time()
	live := make([]string, 0, len(r.beats))
	for node, beat := range r.beats {
		if now.Sub(beat) <= r.livenessTTL() {
			live = append(live, node)
		}
	}
	slices.Sort(live)
	return live, nil
}
