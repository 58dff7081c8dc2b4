package relay_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

// call is one call that an elector made to a spied store.
type call struct {
	method string
	owner  string
	at     time.Time
}

// spyStore records the calls to a memory store and lets a test stand between.
type spyStore struct {
	*memory.LeaseStore

	// request, if set, answers the n-th TryAcquireOrRenew, counted from 1; ask
	// passes it on to the store.
	request func(n int, ask func() (relay.Lease, error)) (relay.Lease, error)
	current func(ask func() (relay.Lease, error)) (relay.Lease, error)

	mu    sync.Mutex // guards calls
	calls []call
}

func newSpyStore() *spyStore { return &spyStore{LeaseStore: memory.NewLeaseStore(nil)} }

func (s *spyStore) record(method, owner string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call{method, owner, time.Now()})
	for _, c := range s.calls {
		if c.method == method {
			n++
		}
	}
	if n > 100_000 {
		panic("the elector asks the store in a busy loop")
	}
	return n
}

// made returns the recorded calls of one method.
func (s *spyStore) made(method string) []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []call
	for _, c := range s.calls {
		if c.method == method {
			found = append(found, c)
		}
	}
	return found
}

// order returns the methods in the order of their calls.
func (s *spyStore) order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var methods []string
	for _, c := range s.calls {
		methods = append(methods, c.method)
	}
	return methods
}

func (s *spyStore) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	n := s.record("request", owner)
	if err := ctx.Err(); err != nil {
		return relay.Lease{}, err
	}
	ask := func() (relay.Lease, error) {
		return s.LeaseStore.TryAcquireOrRenew(context.WithoutCancel(ctx), role, owner, ttl)
	}
	if s.request == nil {
		return ask()
	}
	return s.request(n, ask)
}

func (s *spyStore) Release(ctx context.Context, lease relay.Lease) error {
	s.record("release", lease.Owner)
	return s.LeaseStore.Release(ctx, lease)
}

func (s *spyStore) Current(ctx context.Context, role string) (relay.Lease, error) {
	s.record("current", "")
	ask := func() (relay.Lease, error) { return s.LeaseStore.Current(ctx, role) }
	if s.current == nil {
		return ask()
	}
	return s.current(ask)
}

// eventLog collects events.
type eventLog struct {
	mu     sync.Mutex // guards events
	events []relay.Event
}

func (l *eventLog) observe(e relay.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// of returns the events of one kind.
func (l *eventLog) of(kind relay.EventKind) []relay.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []relay.Event
	for _, e := range l.events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

func newLeaseElector(t *testing.T, s relay.LeaseStore, cfg relay.LeaseElectorConfig) *relay.LeaseElector {
	t.Helper()
	e, err := relay.NewLeaseElector(s, cfg)
	require.NoError(t, err)
	return e
}

func newLockElector(t *testing.T, l relay.Locker, cfg relay.LockElectorConfig) *relay.LockElector {
	t.Helper()
	e, err := relay.NewLockElector(l, cfg)
	require.NoError(t, err)
	return e
}

// start calls run in a goroutine and returns where its result comes.
func start(run func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- run() }()
	return result
}

// untilDone is work that does nothing until it is told to stop.
func untilDone(ctx context.Context, _ relay.Term) error {
	<-ctx.Done()
	return nil
}

// longest makes each pause between two tries as long as it may be.
func longest(most time.Duration) time.Duration { return most }

// aDay returns a context that ends after a day of a bubble's time, so that a
// broken elector fails a test and does not hang it.
func aDay(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	t.Cleanup(cancel)
	return ctx
}

// longArithmetic skips a test in short mode that computes for long and starts
// no goroutine, so that the race detector has nothing to find in it.
func longArithmetic(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long arithmetic: run without -short")
	}
}
