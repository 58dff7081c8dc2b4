package leadership_test

import (
	"sync"
	"time"
)

// ManualClock is a clock that moves when a test says so. Pass its Now to a
// store, and "after 30 s the lease lapses" takes no time at all.
type ManualClock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

// NewManualClock returns a clock that stands at noon.
func NewManualClock() *ManualClock {
	return &ManualClock{now: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)}
}

// Now is the time that the clock shows.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock ahead by d.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
