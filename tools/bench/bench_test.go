package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/internal/pgtest"
)

func TestMedian_IsTheMiddleOrTheMeanOfTheTwo(t *testing.T) {
	values := []float64{9, 1, 5}
	require.InDelta(t, 5, median(values), 0)
	require.Equal(t, []float64{9, 1, 5}, values, "the caller's order stays")
	require.InDelta(t, 3, median([]float64{1, 5, 4, 2}), 0)
	require.True(t, math.IsNaN(median(nil)))
	require.InDelta(t, 2, quantile([]float64{1, 2, 3, 4, 5}, 0.25), 0)
	require.InDelta(t, 7, quantile([]float64{7}, 0.75), 0)
}

func TestRatio_IsTakenInEachRound(t *testing.T) {
	samples := func(ops ...int) (s series) {
		for _, n := range ops {
			s = append(s, sample{ops: n, took: time.Second, cpu: time.Millisecond})
		}
		return s
	}
	// The machine became ten times slower; the ratio of the medians would be 0.2.
	ratios := samples(200, 20, 20).over(samples(100, 100, 10))
	require.Equal(t, []float64{2, 0.2, 2}, ratios)
	require.InDelta(t, 2, median(ratios), 0)
	require.Equal(t, time.Millisecond, samples(1, 1).cpuPerOp())

	floor := lockFloor{base: "pgbench", factor: 0.5}
	got := floor.line(1, "x", samples(100), []series{samples(200)}, atLeast(0.25))
	require.Equal(t, []float64{0.25}, got.rounds)
	require.InDelta(t, 400, got.floor.value, 0, "half as fast as pgbench, which is what the floor shows")
	require.Equal(t, "yes", got.verdict())
}

func TestVerdict_FollowsTheBound(t *testing.T) {
	for _, c := range []struct {
		line line
		want string
	}{
		{line{rounds: []float64{0.8}, bound: atLeast(0.8)}, "yes"},
		{line{rounds: []float64{0.79}, bound: atLeast(0.8)}, "NO"},
		{line{rounds: []float64{0.25}, bound: atMost(0.25)}, "yes"},
		{line{rounds: []float64{1.2}, bound: within(0.85, 1.15)}, "NO"},
		{line{value: count(0), bound: valueAtMost(0, "")}, "yes"},
		{line{value: count(1), rounds: []float64{0}, bound: valueAtMost(0, "")}, "NO"},
		{line{bound: atLeast(0.8)}, "NO"},
		{line{rounds: []float64{math.NaN()}, bound: atMost(1)}, "NO"},
		{line{rounds: []float64{1}}, ""},
		{line{bound: atMost(1), skip: "nothing to measure"}, ""},
		{line{rounds: []float64{1}, bound: atMost(1), err: errors.New("wrong")}, "FAILED"},
	} {
		require.Equal(t, c.want, c.line.verdict(), "%+v", c.line)
	}
}

func TestQuantity_ShowsThreeDigits(t *testing.T) {
	for want, q := range map[string]quantity{
		"12346/s": perSecond(12345.6), "45.7 ms": millis(45678 * time.Microsecond), "3.46 MB": megabytes(3.456 * (1 << 20)),
		"0.35 µs": micros(346 * time.Nanosecond), "0.0123": count(0.0123), "2": count(2),
	} {
		require.Equal(t, want, q.String())
	}
}

func TestTable_IsWrittenBothWays(t *testing.T) {
	lines := []line{
		{what: "a peer", skip: "install it"},
		{goal: 1, what: "a lock", value: perSecond(900), base: "floor", floor: perSecond(1000), rounds: []float64{0.9}, bound: atLeast(0.8)},
		{goal: 2, what: "broken", err: errors.New("one | two\nthree")},
	}
	var plain, markdown bytes.Buffer
	require.NoError(t, write(&plain, []string{"here"}, lines, false))
	require.NoError(t, write(&markdown, []string{"here"}, lines, true))
	require.Equal(t, `here

goal  what    measured  floor         ratio  goal's bound  met
1     a lock  900/s     floor 1000/s  0.90   ≥ 0.80        yes
2     broken  one | two three                              FAILED
      a peer  not measured: install it
`, plain.String())
	require.Equal(t, `- here

| goal | what | measured | floor | ratio | goal's bound | met |
|---|---|---|---|---|---|---|
| 1 | a lock | 900/s | floor 1000/s | 0.90 | ≥ 0.80 | yes |
| 2 | broken | one \| two three | | | | FAILED |
| | a peer | not measured: install it | | | | |
`, markdown.String())
	require.ErrorContains(t, failures(lines), "goal 2: broken: one | two")
	require.NoError(t, failures(lines[:2]), "neither a missed goal nor what is missing is a failure")
}

func TestPgbench_ReportsAreRead(t *testing.T) {
	const report = `progress: 1.0 s, 20122.4 tps, lat 0.790 ms stddev 0.402, 0 failed
progress: 2.0 s, 42224.5 tps, lat 0.372 ms stddev 0.209, 0 failed
progress: 3.0 s, 41000.0 tps, lat 0.372 ms stddev 0.209
tps = 34448.848668 (without initial connection time)
`
	best, err := bestRate(pgbenchSecond, []byte(report))
	require.NoError(t, err)
	require.InDelta(t, 42224.5, best, 0)
	all, err := bestRate(pgbenchRate, []byte(report))
	require.NoError(t, err)
	require.InDelta(t, 34448.848668, all, 0)
	_, err = bestRate(pgbenchRate, []byte("nothing"))
	require.ErrorContains(t, err, "no rate in pgbench's report:\nnothing")
}

func TestOptions_AreChecked(t *testing.T) {
	opts := options{rounds: 1, slice: 1}
	require.NoError(t, opts.check("", nil))
	require.True(t, opts.wants(0) && opts.wants(7))
	require.NoError(t, opts.check("1, 4", nil))
	require.True(t, opts.wants(4))
	require.False(t, opts.wants(0) || opts.wants(2))
	for _, only := range []string{"8", "-1", "x", "1,"} {
		require.ErrorContains(t, opts.check(only, nil), "is no goal")
	}
	require.Error(t, opts.check("", []string{"1"}))
	require.Error(t, (&options{rounds: 0, slice: 1}).check("", nil))
}

func TestPeers_AreLeftOutWhereTheyAreNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	peers, stop, err := startPeers(t.Context())
	require.NoError(t, err)
	stop()
	require.Len(t, peers, 3)
	for _, p := range peers {
		require.NotEmpty(t, p.missing, p.name)
		require.Nil(t, p.waiting, p.name)
	}
}

func TestGuard_LeavesNothingBehind(t *testing.T) {
	for _, args := range [][]string{{"sleep", "600"}, {"sh", "-c", "echo no good; exit 1"}} {
		dir := filepath.Join(t.TempDir(), "server")
		require.NoError(t, os.Mkdir(dir, 0o700))
		server, err := guard(dir, args[0], args[1:]...)
		require.NoError(t, err)
		if args[0] == "sh" {
			require.ErrorContains(t, server.await(t.Context(), func() error { return os.ErrNotExist }), "no good")
		}
		server.stop()
		require.NoDirExists(t, dir)
	}
}

// TestRun_MeasuresEveryGoal is about a run's being whole. What it measures in a
// hundredth of the time, beside other tests, means nothing.
func TestRun_MeasuresEveryGoal(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	opts := options{rounds: 1, slice: 10 * time.Millisecond, crowd: 8, many: 50,
		only: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}}
	b, err := newBench(t.Context(), pgtest.DSN(t), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.close()) })
	require.NoError(t, b.measure(t.Context()))
	measured := map[int]int{}
	for _, l := range b.lines {
		require.NoError(t, l.err, l.what)
		if l.skip == "" {
			require.False(t, math.IsNaN(l.value.value) || math.IsInf(l.value.value, 0), l.what)
			if l.value.value > 0 {
				measured[l.goal]++
			}
		}
	}
	for goal := range opts.only {
		require.Positive(t, measured[goal], "nothing was measured of goal %d", goal)
	}
}

func TestPgbench_IsAFloor(t *testing.T) {
	program := findPgbench()
	if testing.Short() || program == "" {
		t.Skip("takes seconds, and pgbench")
	}
	b, err := newBench(t.Context(), pgtest.DSN(t), options{rounds: 1, slice: 10 * time.Millisecond, pgbench: program})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.close()) })
	require.NoError(t, b.checkPgbench(t.Context(), 2))
	rate, err := b.pgbenchOnce(t.Context(), 2)
	require.NoError(t, err)
	require.Positive(t, rate)
	got, err := b.pgbenchInTurns().run(t.Context(), b.slice)
	require.NoError(t, err)
	require.Positive(t, got.rate())

	_, err = b.runPgbench(t.Context(), strings.Replace(pgbenchScript, "pg_try_advisory_lock(:client_id)", "1 / 0", 1), 1, "-t", "1")
	require.ErrorContains(t, err, "division by zero", "a statement that fails is no floor")
}
