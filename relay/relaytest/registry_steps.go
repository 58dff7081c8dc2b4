package relaytest

import (
	"fmt"
	"slices"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

func (tr *trial) beat(r relay.NodeRegistry, node string) {
	if err := r.Heartbeat(tr.ctx, node); err != nil {
		tr.fail("Heartbeat(%q): %v; want nil", node, err)
	}
}

func (tr *trial) leave(r relay.NodeRegistry, node string) {
	if err := r.Leave(tr.ctx, node); err != nil {
		tr.fail("Leave(%q): %v; want nil, for an unknown node too", node, err)
	}
}

// live fails unless exactly these nodes are live, because of why.
func (tr *trial) live(r relay.NodeRegistry, why string, nodes ...string) {
	if err := tr.lists(r, why, nodes...); err != nil {
		tr.fail("%v", err)
	}
}

// lists is live with the verdict as an error.
func (tr *trial) lists(r relay.NodeRegistry, why string, nodes ...string) error {
	got, err := r.LiveNodes(tr.ctx)
	switch {
	case err != nil:
		return fmt.Errorf("want %.20q, got an error of LiveNodes: %w: %s", nodes, err, why)
	case !slices.Equal(got, nodes):
		return fmt.Errorf("want %.20q, got %.20q from LiveNodes: %s", nodes, got, why)
	}
	return nil
}

// inTime runs observe, which says when it last made a node live and whether
// it then saw the right nodes. On a slow machine a node may have lapsed again
// until observe looked; what it saw then proves nothing, and it is run again.
func (tr *trial) inTime(ttl time.Duration, observe func(i int) (beat time.Time, err error)) {
	for i := range 5 {
		beat, err := observe(i)
		slow := time.Since(beat) >= ttl
		switch {
		case err == nil:
			return
		case !slow:
			tr.fail("%v", err)
		}
	}
	tr.skip("the machine is too slow to tell")
}
