package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// NodeRegistry tells which nodes have sent a heartbeat lately. A node is live
// until its last heartbeat is older than the registry's liveness TTL, by the
// store's clock.
//
// The list is a hint, not a roster: it can still name a node that has just
// died, and two nodes can see different lists at one moment. Never derive
// exclusive ownership from it; that takes a lease.
//
// Every method refuses a node that ValidateName refuses, before any I/O, and is
// ErrClosed after a Close that the adapter may have.
type NodeRegistry interface {
	// Heartbeat says that node is alive now. After Leave, or after a lapse, it
	// is a new join.
	Heartbeat(ctx context.Context, node string) error

	// Leave removes node at once. It is nil for a node that is not known. It
	// obeys ctx: detach it (context.WithoutCancel) on the way out.
	Leave(ctx context.Context, node string) error

	// LiveNodes returns the live nodes, sorted bytewise.
	LiveNodes(ctx context.Context) ([]string, error)
}

// DefaultHeartbeatInterval and DefaultLivenessTTL fit each other: a node may
// miss two heartbeats and is still live.
const (
	DefaultHeartbeatInterval = 10 * time.Second
	DefaultLivenessTTL       = 30 * time.Second
)

// KeepAliveConfig tunes KeepAlive. The zero value works.
type KeepAliveConfig struct {
	// Interval is the time from one heartbeat to the next, and the bound of
	// each call. 0 is DefaultHeartbeatInterval. Keep it at a third of the
	// registry's liveness TTL or less.
	Interval time.Duration

	// Observer is told of heartbeats that fail.
	Observer Observer
}

// KeepAlive keeps node live in r: it sends a heartbeat at once and then every
// Interval. A heartbeat that fails goes to the observer and the next one is
// tried in its turn. When ctx ends it waits for the heartbeat under way, makes
// the node leave, and returns context.Cause(ctx). Both calls are detached from
// ctx and bounded by Interval. With a ctx that has already ended it neither
// beats nor leaves.
//
// Give it a goroutine of its own. A heartbeat that shares a loop with the work
// throws a busy node out.
func KeepAlive(ctx context.Context, r NodeRegistry, node string, cfg KeepAliveConfig) error {
	if r == nil {
		return errors.New("relay: KeepAlive: the NodeRegistry is nil")
	}
	if err := validateName("node", node, maxNameBytes); err != nil {
		return err
	}
	if cfg.Interval < 0 {
		return fmt.Errorf("relay: KeepAlive: Interval %v is negative", cfg.Interval)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	interval := cmp.Or(cfg.Interval, DefaultHeartbeatInterval)

	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	// Not cancelled with ctx: a heartbeat that was given up could still reach
	// the store, after the node has left.
	detached := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		beat(detached, r, node, interval, cfg.Observer)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	leave(detached, r, node, interval, cfg.Observer)
	return context.Cause(ctx)
}

func beat(ctx context.Context, r NodeRegistry, node string, timeout time.Duration, observe Observer) {
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	if err := r.Heartbeat(call, node); err != nil {
		observe.Emit(Event{Kind: EventFailed, Name: node, Took: time.Since(began), Err: fmt.Errorf("heartbeat: %w", err)})
	}
}

func leave(ctx context.Context, r NodeRegistry, node string, timeout time.Duration, observe Observer) {
	call, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	event := Event{Kind: EventReleased, Name: node}
	if err := r.Leave(call, node); err != nil {
		event.Kind, event.Err = EventFailed, fmt.Errorf("leave: %w", err)
	}
	event.Took = time.Since(began)
	observe.Emit(event)
}
