// Package pause says how long those who contend for something wait between two
// tries.
package pause

import (
	"math/rand/v2"
	"time"
)

// Next returns p/2 + jitter(p/2). What jitter returns is held to 0..p/2; nil
// draws from math/rand/v2. There is no other back-off: the waits of many
// instances spread and never grow past p.
func Next(p time.Duration, jitter func(max time.Duration) time.Duration) time.Duration {
	half := p / 2
	if half <= 0 {
		return p
	}
	if jitter == nil {
		return half + rand.N(half+1)
	}
	return half + min(max(jitter(half), 0), half)
}
