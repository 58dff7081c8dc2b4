package relaytest_test

import (
	"context"
	"time"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

// registry is a NodeRegistry made of functions, so that one of them can be
// replaced.
type registry struct {
	beat, leave func(ctx context.Context, node string) error
	list        func(context.Context) ([]string, error)
	close       func(context.Context) error
}

func (r *registry) Heartbeat(ctx context.Context, node string) error { return r.beat(ctx, node) }
func (r *registry) Leave(ctx context.Context, node string) error     { return r.leave(ctx, node) }
func (r *registry) LiveNodes(ctx context.Context) ([]string, error)  { return r.list(ctx) }

// newRegistry returns a registry over a backend that keeps all the promises and
// can be closed.
func newRegistry(backend relay.NodeRegistry) *registry {
	c := newCloser()
	closed := func() error { return c.err(relay.ErrClosed) }
	return &registry{
		close: c.Close,
		beat: func(ctx context.Context, node string) error {
			return firstError(closed, func() error { return backend.Heartbeat(ctx, node) })
		},
		leave: func(ctx context.Context, node string) error {
			return firstError(closed, func() error { return backend.Leave(ctx, node) })
		},
		list: func(ctx context.Context) ([]string, error) {
			if err := closed(); err != nil {
				return nil, err
			}
			return backend.LiveNodes(ctx)
		},
	}
}

// newRegistrySubject returns a good subject. It belongs in a bubble.
func newRegistrySubject(ttl time.Duration) *relaytest.NodeRegistrySubject {
	backend := memory.NewNodeRegistry(ttl, nil)
	a := newRegistry(backend)
	return &relaytest.NodeRegistrySubject{
		A: a, B: newRegistry(backend), OtherGroup: newRegistry(memory.NewNodeRegistry(ttl, nil)),
		Elapse: time.Sleep, Exact: true, Close: a.close,
	}
}

// bothRegistries breaks A and B.
func bothRegistries(s *relaytest.NodeRegistrySubject, f func(*registry)) {
	f(s.A.(*registry))
	f(s.B.(*registry))
}

// withTTL replaces the backend by one with another TTL.
func withTTL(other func(ttl time.Duration) time.Duration) func(*relaytest.NodeRegistrySubject, time.Duration) {
	return func(s *relaytest.NodeRegistrySubject, ttl time.Duration) {
		*s = *newRegistrySubject(other(ttl))
	}
}

// heartbeats replaces Heartbeat.
func heartbeats(
	beat func(ctx context.Context, node string, good *registry) error,
) func(*relaytest.NodeRegistrySubject, time.Duration) {
	return func(s *relaytest.NodeRegistrySubject, _ time.Duration) {
		bothRegistries(s, func(r *registry) {
			good := *r
			r.beat = func(ctx context.Context, node string) error { return beat(ctx, node, &good) }
		})
	}
}

// leaving replaces Leave.
func leaving(
	leave func(ctx context.Context, node string, good *registry) error,
) func(*relaytest.NodeRegistrySubject, time.Duration) {
	return func(s *relaytest.NodeRegistrySubject, _ time.Duration) {
		bothRegistries(s, func(r *registry) {
			good := *r
			r.leave = func(ctx context.Context, node string) error { return leave(ctx, node, &good) }
		})
	}
}

// listing changes the list that LiveNodes returns.
func listing(change func(nodes []string) []string) func(*relaytest.NodeRegistrySubject, time.Duration) {
	return func(s *relaytest.NodeRegistrySubject, _ time.Duration) {
		bothRegistries(s, func(r *registry) {
			good := *r
			r.list = func(ctx context.Context) ([]string, error) {
				nodes, err := good.LiveNodes(ctx)
				return change(nodes), err
			}
		})
	}
}

// hopelessRegistry does nothing right.
func hopelessRegistry() relaytest.NodeRegistrySubject {
	fail := func(context.Context, string) error { return errHopeless }
	r := &registry{
		beat: fail, leave: fail,
		list:  func(context.Context) ([]string, error) { return nil, errHopeless },
		close: func(context.Context) error { return errHopeless },
	}
	return relaytest.NodeRegistrySubject{A: r, B: r, OtherGroup: r, Elapse: time.Sleep, Exact: true, Close: r.close}
}
