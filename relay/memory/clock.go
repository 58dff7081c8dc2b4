package memory

import "time"

// clock tells a store's time; nil is time.Now.
type clock func() time.Time

// time has no monotonic reading. With one a comparison would follow the
// process's own monotonic clock, and a store has only one clock to show to
// everybody.
func (c clock) time() time.Time {
	if c == nil {
		return time.Now().Round(0)
	}
	return c().Round(0)
}
