package pause_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/internal/pause"
)

func TestNext_IsBetweenHalfAndAllOfTheInterval(t *testing.T) {
	constant := func(d time.Duration) func(time.Duration) time.Duration {
		return func(time.Duration) time.Duration { return d }
	}
	for want, jitter := range map[time.Duration]time.Duration{5: 0, 7: 2, 10: 5} {
		require.Equal(t, want, pause.Next(10, constant(jitter)))
	}
	require.EqualValues(t, 10, pause.Next(10, constant(time.Hour)), "too much jitter is held to half of the interval")
	require.EqualValues(t, 5, pause.Next(10, constant(-time.Hour)), "and less than none to none")
	require.EqualValues(t, 1, pause.Next(1, constant(0)), "the shortest interval is a wait too")
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := pause.Next(10, nil)
		require.True(t, 5 <= d && d <= 10, "%v", d)
		seen[d] = true
	}
	require.Len(t, seen, 6, "every wait from 5 to 10 comes up")
}
