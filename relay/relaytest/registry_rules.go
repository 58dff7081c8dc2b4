package relaytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

var nodeRegistryRules = []rule[openWith]{
	{"a node is live after its heartbeat", func(tr *trial, open openWith) {
		s := open(long)
		tr.live(s.A, "nobody has sent a heartbeat")
		tr.beat(s.A, "n1")
		tr.live(s.B, "it has sent a heartbeat", "n1")
		tr.beat(s.B, "n2")
		tr.live(s.A, "both have sent a heartbeat", "n1", "n2")
	}},
	{"a node is listed once", func(tr *trial, open openWith) {
		s := open(long)
		for range 3 {
			tr.beat(s.A, "n1")
			tr.beat(s.B, "n1")
		}
		tr.live(s.A, "it has sent many heartbeats and is one node", "n1")
	}},
	{"a node lapses when its last heartbeat is older than the TTL", func(tr *trial, open openWith) {
		s := open(short)
		tr.beat(s.A, "n1")
		tr.beat(s.B, "n2")
		s.Elapse(short + short/2)
		tr.live(s.A, "the last heartbeats are older than the TTL")
		tr.live(s.B, "the last heartbeats are older than the TTL")
	}},
	{"a heartbeat keeps a node live and nobody else", func(tr *trial, open openWith) {
		const ttl = time.Second
		s := open(ttl)
		tr.inTime(ttl, func(i int) (time.Time, error) {
			kept, silent := fmt.Sprint("kept ", i), fmt.Sprint("silent ", i)
			tr.beat(s.A, silent)
			tr.beat(s.A, kept)
			s.Elapse(ttl * 6 / 10)
			refreshed := time.Now()
			tr.beat(s.B, kept)
			s.Elapse(ttl * 6 / 10)
			return refreshed, tr.lists(s.A, "the one has sent a heartbeat within the TTL, the other has not", kept)
		})
	}},
	{"a heartbeat after a lapse joins anew", func(tr *trial, open openWith) {
		const ttl = 100 * time.Millisecond
		s := open(ttl)
		tr.inTime(ttl, func(int) (time.Time, error) {
			tr.beat(s.A, "n1")
			s.Elapse(ttl + ttl/2)
			tr.live(s.A, "its last heartbeat is older than the TTL")
			joined := time.Now()
			tr.beat(s.A, "n1")
			return joined, tr.lists(s.A, "it has sent a heartbeat after its lapse", "n1")
		})
	}},
	{"a node is live while its last heartbeat is exactly the TTL old", func(tr *trial, open openWith) {
		s := open(second)
		if !s.Exact {
			tr.skip("this registry's clock goes by itself")
		}
		tr.beat(s.A, "n1")
		s.Elapse(second - 1)
		tr.beat(s.A, "n2")
		s.Elapse(1)
		tr.live(s.A, "exactly the TTL old is not older than the TTL", "n1", "n2")
		s.Elapse(1)
		tr.live(s.A, "n1's last heartbeat is older than the TTL", "n2")
	}},
	{"the list is sorted byte by byte", func(tr *trial, open openWith) {
		s := open(long)
		nodes := append([]string{"b", "a", "B", "A", "a-b", "a_b", "ab", "a b", "n10", "n9", "ä", "z", "é", "e\u0301"}, oddNames...)
		for _, node := range nodes {
			tr.beat(s.A, node)
		}
		slices.Sort(nodes)
		tr.live(s.B, "nodes are compared byte by byte, for the order too", nodes...)
	}},

	{"a node that leaves is gone at once", func(tr *trial, open openWith) {
		s := open(long)
		tr.beat(s.A, "n1")
		tr.beat(s.A, "n2")
		tr.leave(s.B, "n1")
		tr.live(s.A, "the other one has left", "n2")
		tr.leave(s.A, "n2")
		tr.live(s.A, "both have left")
	}},
	{"leaving is no error for a node that is not there", func(tr *trial, open openWith) {
		s := open(long)
		tr.beat(s.A, "n1")
		tr.leave(s.A, "n2")
		tr.leave(s.A, "N1")
		tr.live(s.A, "only others have left", "n1")
		tr.leave(s.A, "n1")
		tr.leave(s.A, "n1")
		tr.live(s.A, "it has left")
	}},
	{"a heartbeat after leaving joins anew", func(tr *trial, open openWith) {
		s := open(long)
		tr.beat(s.A, "n1")
		tr.leave(s.A, "n1")
		tr.beat(s.A, "n1")
		tr.live(s.A, "it has sent a heartbeat after it left", "n1")
	}},
	{"groups don't see each other", func(tr *trial, open openWith) {
		s := open(long)
		if s.OtherGroup == nil {
			tr.skip("this adapter has no groups")
		}
		tr.beat(s.A, "n1")
		tr.beat(s.A, "n2")
		tr.live(s.OtherGroup, "only another group has nodes")
		tr.beat(s.OtherGroup, "n1")
		tr.leave(s.OtherGroup, "n2")
		tr.leave(s.A, "n1")
		tr.live(s.A, "n1 has left this group, n2 only the other one", "n2")
		tr.live(s.OtherGroup, "n1 has left another group only", "n1")
	}},

	{"nodes whose names not every adapter can take are refused", func(tr *trial, open openWith) {
		s := open(long)
		tr.refusesBadNames("Heartbeat", func(name string) error { return s.A.Heartbeat(tr.ctx, name) })
		tr.refusesBadNames("Leave", func(name string) error { return s.A.Leave(tr.ctx, name) })
		tr.live(s.A, "only bad names were tried")
	}},
	{"a context that has ended changes no node", func(tr *trial, open openWith) {
		s, ended := open(long), tr.ended()
		want := func(what string, err error) {
			if !errors.Is(err, context.Canceled) {
				tr.fail("%s with a context that had been cancelled: %v; want its error", what, err)
			}
		}
		tr.beat(s.A, "n1")
		want("Heartbeat", s.A.Heartbeat(ended, "n2"))
		want("Leave", s.A.Leave(ended, "n1"))
		_, err := s.A.LiveNodes(ended)
		want("LiveNodes", err)
		tr.live(s.A, "a context that has ended changes nothing", "n1")
	}},
	{"heartbeats of many nodes at once all count", func(tr *trial, open openWith) {
		s := open(long)
		var nodes []string
		for i := range 16 {
			nodes = append(nodes, fmt.Sprintf("n%02d", i))
		}
		tr.all(len(nodes), func(i int) error {
			r := []relay.NodeRegistry{s.A, s.B}[i%2]
			if err := r.Heartbeat(tr.ctx, nodes[i]); err != nil {
				return fmt.Errorf("beside others Heartbeat: %w; want nil", err)
			}
			_, err := r.LiveNodes(tr.ctx)
			return err
		})
		tr.live(s.A, "each has sent a heartbeat", nodes...)
	}},
	{"after Close every call to a registry is ErrClosed and the nodes stay", func(tr *trial, open openWith) {
		s := open(long)
		if s.Close == nil {
			tr.skip("this adapter has no Close")
		}
		tr.beat(s.A, "n1")
		tr.close(s.Close)
		want := func(what string, err error) {
			if !errors.Is(err, relay.ErrClosed) {
				tr.fail("%s after Close: %v; want an error that matches ErrClosed", what, err)
			}
		}
		want("Heartbeat", s.A.Heartbeat(tr.ctx, "n2"))
		want("Leave", s.A.Leave(tr.ctx, "n1"))
		_, err := s.A.LiveNodes(tr.ctx)
		want("LiveNodes", err)
		tr.close(s.Close)
		tr.live(s.B, "only another registry was closed", "n1")
	}},
}
