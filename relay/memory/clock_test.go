package memory_test

import (
	"sync"
	"time"
)

// manualClock stands still until it is moved.
type manualClock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func newClock() *manualClock {
	return &manualClock{now: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, back when d is negative.
func (c *manualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
