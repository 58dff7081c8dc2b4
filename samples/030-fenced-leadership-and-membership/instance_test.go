package leadership_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

// Instance is one copy of the service: an elector, and its link to the store
// that all the copies share.
type Instance struct {
	*relay.LeaseElector
	link *link
}

// link can be cut, as by a network fault or by a pause of the whole process:
// whatever the instance asks then is not answered.
type link struct {
	relay.LeaseStore
	cut   atomic.Bool
	lose  atomic.Int32 // so many requests are lost, then it works again
	delay atomic.Int64 // of each reply
}

func (l *link) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	if l.cut.Load() || l.lose.Add(-1) >= 0 {
		<-ctx.Done()
		return relay.Lease{}, ctx.Err()
	}
	lease, err := l.LeaseStore.TryAcquireOrRenew(ctx, role, owner, ttl)
	time.Sleep(time.Duration(l.delay.Load()))
	return lease, err
}

func (l *link) Release(ctx context.Context, lease relay.Lease) error {
	if l.cut.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.LeaseStore.Release(ctx, lease)
}

// newInstance returns an instance with the default times: a TTL of 30 s,
// renewed every 10 s, trusted until 3 s before it lapses, retried every 5 s.
func newInstance(t *testing.T, name string, shared relay.LeaseStore, tune ...func(*relay.LeaseElectorConfig)) *Instance {
	t.Helper()
	l := &link{LeaseStore: shared}
	cfg := relay.LeaseElectorConfig{Owner: name}
	for _, f := range tune {
		f(&cfg)
	}
	elector, err := relay.NewLeaseElector(l, cfg)
	require.NoError(t, err)
	return &Instance{elector, l}
}

// start runs an instance in the background until the test ends.
func start(t *testing.T, i *Instance, lead func(ctx context.Context, term relay.Term) error) {
	ended := make(chan error, 1)
	go func() { ended <- i.Run(t.Context(), role, lead) }()
	t.Cleanup(func() { <-ended })
}

// observed passes an instance's events to f.
func observed(f relay.Observer) func(*relay.LeaseElectorConfig) {
	return func(cfg *relay.LeaseElectorConfig) { cfg.Observer = f }
}

// longestWaits makes each wait between two tries as long as it may be, so that
// a test can name the second at which something happens.
func longestWaits(cfg *relay.LeaseElectorConfig) {
	cfg.Jitter = func(most time.Duration) time.Duration { return most }
}

// newTimeline returns a function that prints a line, and how long after the
// timeline was made it came.
func newTimeline(t *testing.T) func(format string, args ...any) {
	began := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(t.Output(), "%-4v  %s\n", time.Since(began), fmt.Sprintf(format, args...))
	}
}
