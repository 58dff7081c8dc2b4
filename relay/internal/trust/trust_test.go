package trust_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/internal/trust"
)

func TestInstant_TheClockThatSaysMoreDecides(t *testing.T) {
	start := trust.Instant{Wall: time.Unix(1_000, 0), Mono: 50 * time.Second}
	later := func(wall, mono time.Duration) trust.Instant {
		return trust.Instant{Wall: start.Wall.Add(wall), Mono: start.Mono + mono}
	}
	cases := map[string]struct {
		now  trust.Instant
		want time.Duration
	}{
		"both clocks agree": {later(7*time.Second, 7*time.Second), 7 * time.Second},
		"the machine slept and its monotonic clock stood":     {later(time.Hour, time.Second), time.Hour},
		"the wall clock was set back":                         {later(-time.Hour, 9*time.Second), 9 * time.Second},
		"the wall clock was set forward: trust ends too soon": {later(time.Hour, 9*time.Second), time.Hour},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, c.now.Since(start), "the larger of the two elapsed times counts")
		})
	}
}

func TestNow_ReadsTheWallClockWithoutAMonotonicPart(t *testing.T) {
	before := time.Now()
	got := trust.Now()
	require.Equal(t, got.Wall.Round(0), got.Wall, "a monotonic reading inside Wall would hide a step of the wall clock")
	require.False(t, got.Wall.Before(before.Round(0)))
	require.GreaterOrEqual(t, trust.Now().Since(got), time.Duration(0))
}
