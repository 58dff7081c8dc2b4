package coordination_test

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/relay-samples/relay-go/relay"
)

// FakeLock is a Locker that grants and denies by a script, so that a test of an
// elector needs neither a database nor luck. When the script has ended it
// grants.
type FakeLock struct {
	mu     sync.Mutex // guards what follows
	script []bool
	names  []string
	held   *FakeHold
}

// NewFakeLock returns a FakeLock that answers by script: true grants.
func NewFakeLock(script ...bool) *FakeLock { return &FakeLock{script: script} }

// TryAcquire answers with the next line of the script.
func (f *FakeLock) TryAcquire(_ context.Context, name string) (relay.Lock, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = append(f.names, name)
	if len(f.script) > 0 {
		granted := f.script[0]
		f.script = f.script[1:]
		if !granted {
			return nil, relay.ErrNotAcquired
		}
	}
	f.held = &FakeHold{name: name, lost: make(chan struct{})}
	return f.held, nil
}

// Acquire does the same: a denial is an answer too, and the elector must try
// again.
func (f *FakeLock) Acquire(ctx context.Context, name string) (relay.Lock, error) {
	return f.TryAcquire(ctx, name)
}

// Asked returns the names that were asked for.
func (f *FakeLock) Asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.names...)
}

// Released says whether the lock that was granted last has been given up.
func (f *FakeLock) Released() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held.given.Load()
}

// Lose makes the lock that was granted last be lost, as when its session dies.
func (f *FakeLock) Lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.held.lost)
}

// FakeHold is a lock that FakeLock granted.
type FakeHold struct {
	name     string
	lost     chan struct{}
	given    atomic.Bool
	once     sync.Once
	released error
}

// Name is the name it was taken under.
func (h *FakeHold) Name() string { return h.name }

// Lost is closed by FakeLock.Lose.
func (h *FakeHold) Lost() <-chan struct{} { return h.lost }

// Release is nil, or relay.ErrLost for a lock that was lost.
func (h *FakeHold) Release(context.Context) error {
	h.once.Do(func() {
		h.given.Store(true)
		select {
		case <-h.lost:
			h.released = relay.ErrLost
		default:
		}
	})
	return h.released
}
