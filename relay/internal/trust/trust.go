// Package trust says how long a grant that expires on somebody else's clock may
// be relied on here.
package trust

import "time"

// Instant is a moment on both clocks of this machine. The monotonic one never
// steps but can stand still while the machine sleeps; the wall clock goes on
// then but can be set. Neither alone is safe to trust a lease by.
type Instant struct {
	Wall time.Time     // without a monotonic reading
	Mono time.Duration // since an arbitrary moment of this process
}

var start = time.Now()

// Now reads both clocks.
func Now() Instant {
	now := time.Now()
	return Instant{Wall: now.Round(0), Mono: now.Sub(start)}
}

// Since returns the time that has passed from earlier to i: by the clock that
// says more, so that a doubt shortens trust and never lengthens it.
func (i Instant) Since(earlier Instant) time.Duration {
	return max(i.Mono-earlier.Mono, i.Wall.Sub(earlier.Wall))
}
