package memory

import "time"

// wallClock returns now, or time.Now for nil, without monotonic readings. With
// them a comparison would follow the process's own monotonic clock, and a store
// has only one clock to show to everybody.
func wallClock(now func() time.Time) func() time.Time {
	if now == nil {
		now = time.Now
	}
	return func() time.Time { return now().Round(0) }
}
