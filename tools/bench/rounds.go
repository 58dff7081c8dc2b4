package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// subject is one way of doing something, which a slice of time repeats.
type subject struct {
	name string
	run  func(ctx context.Context, d time.Duration) (sample, error)
}

// sample is what one slice gave.
type sample struct {
	ops  int
	took time.Duration
	cpu  time.Duration // of the server's processes; 0 when it is not known
}

func (s sample) rate() float64 { return float64(s.ops) / s.took.Seconds() }

// series are a subject's samples, one for each round.
type series []sample

func (s series) rate() float64 {
	var rates []float64
	for _, one := range s {
		rates = append(rates, one.rate())
	}
	return median(rates)
}

// cpuPerOp adds the rounds up: a single slice is short for the clock that
// counts it.
func (s series) cpuPerOp() time.Duration {
	var ops int
	var cpu time.Duration
	for _, one := range s {
		ops += one.ops
		cpu += one.cpu
	}
	return cpu / time.Duration(max(ops, 1))
}

// over are the rounds' ratios of rates.
func (s series) over(floor series) (ratios []float64) {
	for i := range s {
		ratios = append(ratios, s[i].rate()/floor[i].rate())
	}
	return ratios
}

// compare runs the subjects in turns, in every round from another one on: what
// the one before leaves behind must not always hit the same.
func compare(ctx context.Context, o options, subjects ...subject) ([]series, error) {
	all := make([]series, len(subjects))
	for round := -1; round < o.rounds; round++ { // the first warms up
		for i := range subjects {
			n := (i + round + 1) % len(subjects)
			got, err := subjects[n].run(ctx, o.slice)
			switch {
			case err != nil:
				return nil, fmt.Errorf("%s: %w", subjects[n].name, err)
			case got.ops == 0 || got.took <= 0:
				return nil, fmt.Errorf("%s: nothing was done in a slice", subjects[n].name)
			case round >= 0:
				all[n] = append(all[n], got)
			}
		}
	}
	return all, nil
}

// operation is done once by one of several callers, and fails when its result is
// not what it has to be.
type operation func(ctx context.Context, caller int) error

// repeat makes a subject of an operation and its number of callers.
func repeat(name string, callers int, op operation) subject {
	return subject{name: name, run: func(ctx context.Context, d time.Duration) (sample, error) {
		var stop atomic.Bool
		var ops atomic.Int64
		var failed onceError
		var group sync.WaitGroup
		begun := time.Now()
		timer := time.AfterFunc(d, func() { stop.Store(true) })
		defer timer.Stop()
		for caller := range callers {
			group.Go(func() {
				done := 0
				for !stop.Load() {
					if err := op(ctx, caller); err != nil {
						failed.set(err)
						stop.Store(true)
						return
					}
					done++
				}
				ops.Add(int64(done))
			})
		}
		group.Wait()
		return sample{ops: int(ops.Load()), took: time.Since(begun)}, failed.get()
	}}
}

// together does what op does once for each of n callers, at once.
func together(ctx context.Context, n int, op operation) (time.Duration, error) {
	var failed onceError
	var ready, group sync.WaitGroup
	ready.Add(n)
	start := make(chan struct{})
	for caller := range n {
		group.Go(func() {
			ready.Done()
			<-start
			if err := op(ctx, caller); err != nil {
				failed.set(err)
			}
		})
	}
	ready.Wait()
	begun := time.Now()
	close(start)
	group.Wait()
	return time.Since(begun), failed.get()
}

// onceError keeps the first of several errors.
type onceError struct {
	once sync.Once
	err  error
}

func (e *onceError) set(err error) { e.once.Do(func() { e.err = err }) }

// get is for when nobody sets any more.
func (e *onceError) get() error { return e.err }

// median of an even number of values is the mean of the two in the middle; of
// none it is not a number.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return quantile(values, 0.5)
}

// quantile interpolates between the two values that are nearest to it.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

func medianTime(times []time.Duration) time.Duration {
	var values []float64
	for _, t := range times {
		values = append(values, float64(t))
	}
	return time.Duration(median(values))
}

// names returns n names, made before anything is measured.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return all
}
