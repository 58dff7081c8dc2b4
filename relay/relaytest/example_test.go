package relaytest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/relay/memory"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

// manualClock stands still until it is moved.
type manualClock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// The whole test of an adapter that lives inside one process and takes its time
// from the test. Two processes are then the same store twice.
func ExampleLeaseStore() {
	var t *testing.T // of func TestLeaseStore_KeepsThePromisesOfALeaseStore(t *testing.T)

	relaytest.LeaseStore(t, func(testing.TB) relaytest.LeaseStoreSubject {
		clock := &manualClock{now: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)}
		store := memory.NewLeaseStore(clock.Now)
		return relaytest.LeaseStoreSubject{
			A: store, B: store,
			Elapse: clock.Advance, Exact: true,
			AdvanceToken: store.AdvanceToken,
		}
	})
}
