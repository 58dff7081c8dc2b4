package relaytest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

func TestCheckNodeRegistry_PassesAnAdapterThatKeepsThePromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, relaytest.CheckNodeRegistry(t, func(_ testing.TB, ttl time.Duration) relaytest.NodeRegistrySubject {
			return *newRegistrySubject(ttl)
		}))
	})
}

// Answers that take longer than the TTL show a node that has lapsed again.
func TestCheckNodeRegistry_DoesNotBlameASlowMachineOnTheAdapter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, relaytest.CheckNodeRegistry(t, func(_ testing.TB, ttl time.Duration) relaytest.NodeRegistrySubject {
			s := newRegistrySubject(ttl)
			s.Exact = false
			bothRegistries(s, func(r *registry) {
				list := r.list
				r.list = func(ctx context.Context) ([]string, error) {
					time.Sleep(2 * time.Second)
					return list(ctx)
				}
			})
			return *s
		}))
	})
}

func TestCheckNodeRegistry_RejectsEachBrokenAdapterByTheRuleItBreaks(t *testing.T) {
	type breakIt = func(s *relaytest.NodeRegistrySubject, ttl time.Duration)
	type open = func(ttl time.Duration) relaytest.NodeRegistrySubject
	var adapters []broken[open]
	breaks := func(rule, adapter string, f breakIt) {
		adapters = append(adapters, broken[open]{adapter, rule, func(testing.TB) open {
			return func(ttl time.Duration) relaytest.NodeRegistrySubject {
				s := newRegistrySubject(ttl)
				f(s, ttl)
				return *s
			}
		}})
	}

	const joins = "a node is live after its heartbeat"
	breaks(joins, "two processes that don't see each other", func(s *relaytest.NodeRegistrySubject, ttl time.Duration) {
		s.B = memory.NewNodeRegistry(ttl, nil)
	})
	breaks("a node is listed once", "a list of heartbeats", func(s *relaytest.NodeRegistrySubject, ttl time.Duration) {
		var beats atomic.Int32
		heartbeats(func(ctx context.Context, node string, good *registry) error {
			beats.Add(1)
			return good.Heartbeat(ctx, node)
		})(s, ttl)
		listing(func(nodes []string) []string {
			if len(nodes) == 1 {
				return slices.Repeat(nodes, int(beats.Load()))
			}
			return nodes
		})(s, ttl)
	})

	const lapses = "a node lapses when its last heartbeat is older than the TTL"
	breaks(lapses, "a node that lives for ever", withTTL(func(time.Duration) time.Duration { return 1000 * time.Hour }))
	const keeps = "a heartbeat keeps a node live and nobody else"
	breaks(keeps, "only the first heartbeat counts", heartbeats(func(ctx context.Context, node string, good *registry) error {
		if nodes, err := good.LiveNodes(ctx); err == nil && slices.Contains(nodes, node) {
			return nil
		}
		return good.Heartbeat(ctx, node)
	}))
	breaks(keeps, "a heartbeat for everybody", heartbeats(func(ctx context.Context, node string, good *registry) error {
		nodes, _ := good.LiveNodes(ctx)
		for _, other := range nodes {
			_ = good.Heartbeat(ctx, other)
		}
		return good.Heartbeat(ctx, node)
	}))
	breaks("a heartbeat after a lapse joins anew", "a node that has lapsed stays dead", func(s *relaytest.NodeRegistrySubject, ttl time.Duration) {
		var joined sync.Map
		heartbeats(func(ctx context.Context, node string, good *registry) error {
			nodes, _ := good.LiveNodes(ctx)
			if _, known := joined.Swap(node, true); known && ttl < time.Second && !slices.Contains(nodes, node) {
				return nil
			}
			return good.Heartbeat(ctx, node)
		})(s, ttl)
	})
	const instant = "a node is live while its last heartbeat is exactly the TTL old"
	breaks(instant, "a node that lapses at the TTL", withTTL(func(ttl time.Duration) time.Duration { return ttl - 1 }))
	breaks(instant, "a node that lapses after the TTL", withTTL(func(ttl time.Duration) time.Duration { return ttl + 1 }))

	const sorted = "the list is sorted byte by byte"
	breaks(sorted, "a list in no order", listing(func(nodes []string) []string {
		slices.Reverse(nodes)
		return nodes
	}))
	breaks(sorted, "a list in the order of a dictionary", listing(func(nodes []string) []string {
		slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
		return nodes
	}))

	const leaves = "a node that leaves is gone at once"
	breaks(leaves, "Leave does nothing", leaving(func(context.Context, string, *registry) error { return nil }))
	breaks(leaves, "the last one can't leave", leaving(func(ctx context.Context, node string, good *registry) error {
		if nodes, _ := good.LiveNodes(ctx); len(nodes) == 1 {
			return nil
		}
		return good.Leave(ctx, node)
	}))
	const leavesUnknown = "leaving is no error for a node that is not there"
	breaks(leavesUnknown, "Leave that complains", leaving(func(ctx context.Context, node string, good *registry) error {
		if nodes, _ := good.LiveNodes(ctx); !slices.Contains(nodes, node) {
			return relay.ErrNotHeld
		}
		return good.Leave(ctx, node)
	}))
	breaks(leavesUnknown, "Leave in lower case", leaving(func(ctx context.Context, node string, good *registry) error {
		return good.Leave(ctx, strings.ToLower(node))
	}))
	breaks("a heartbeat after leaving joins anew", "a node that has left stays away", func(s *relaytest.NodeRegistrySubject, ttl time.Duration) {
		var left sync.Map
		heartbeats(func(ctx context.Context, node string, good *registry) error {
			if _, gone := left.Load(node); gone {
				return nil
			}
			return good.Heartbeat(ctx, node)
		})(s, ttl)
		leaving(func(ctx context.Context, node string, good *registry) error {
			left.Store(node, true)
			return good.Leave(ctx, node)
		})(s, ttl)
	})
	const groups = "groups don't see each other"
	breaks(groups, "one group for all", func(s *relaytest.NodeRegistrySubject, _ time.Duration) { s.OtherGroup = s.A })
	breaks(groups, "Leave that leaves every group", func(s *relaytest.NodeRegistrySubject, _ time.Duration) {
		other := s.OtherGroup.(*registry)
		leave := other.leave
		other.leave = func(ctx context.Context, node string) error {
			return errors.Join(leave(ctx, node), s.B.Leave(ctx, node))
		}
	})

	const checked = "nodes whose names not every adapter can take are refused"
	breaks(checked, "names that are mended", heartbeats(func(ctx context.Context, node string, good *registry) error {
		return good.Heartbeat(ctx, mend(node))
	}))
	breaks(checked, "Leave of a bad name that nobody can have", leaving(func(ctx context.Context, node string, good *registry) error {
		return good.Leave(ctx, mend(node))
	}))
	const refusesEnded = "a context that has ended changes no node"
	breaks(refusesEnded, "Heartbeat that ignores its context", heartbeats(func(ctx context.Context, node string, good *registry) error {
		return good.Heartbeat(context.WithoutCancel(ctx), node)
	}))
	breaks(refusesEnded, "Leave that is detached from its context", leaving(func(ctx context.Context, node string, good *registry) error {
		return errors.Join(good.Leave(context.WithoutCancel(ctx), node), ctx.Err())
	}))
	breaks(refusesEnded, "LiveNodes that ignores its context", func(s *relaytest.NodeRegistrySubject, _ time.Duration) {
		bothRegistries(s, func(r *registry) {
			list := r.list
			r.list = func(ctx context.Context) ([]string, error) { return list(context.WithoutCancel(ctx)) }
		})
	})
	breaks("heartbeats of many nodes at once all count", "a heartbeat that gets lost beside others", func(s *relaytest.NodeRegistrySubject, ttl time.Duration) {
		var beating atomic.Int32
		heartbeats(func(ctx context.Context, node string, good *registry) error {
			defer beating.Add(-1)
			if beating.Add(1) > 2 {
				return nil
			}
			time.Sleep(time.Nanosecond) // in a bubble: until all others beat too
			return good.Heartbeat(ctx, node)
		})(s, ttl)
	})

	const staysClosed = "after Close every call to a registry is ErrClosed and the nodes stay"
	breaks(staysClosed, "Close does nothing", func(s *relaytest.NodeRegistrySubject, _ time.Duration) {
		s.Close = func(context.Context) error { return nil }
	})
	breaks(staysClosed, "Close that makes the nodes leave", func(s *relaytest.NodeRegistrySubject, _ time.Duration) {
		good, b := s.Close, s.B
		s.Close = func(ctx context.Context) error { return errors.Join(b.Leave(ctx, "n1"), good(ctx)) }
	})

	hopeless := func(testing.TB) open {
		return func(time.Duration) relaytest.NodeRegistrySubject { return hopelessRegistry() }
	}
	requireRejected(t, func(t testing.TB, o func(testing.TB) open) error {
		return relaytest.CheckNodeRegistry(t, func(t testing.TB, ttl time.Duration) relaytest.NodeRegistrySubject { return o(t)(ttl) })
	}, hopeless, adapters)
}
