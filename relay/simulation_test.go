package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

// A world of instances that contend for one role over a link that loses,
// delays and repeats requests, and runs them after their sender has given up.
// First all of that happens, then the link heals. RELAY_SEEDS is the number of
// worlds, RELAY_SEED the first one.
func TestSimulation_ThePromisesHoldWhateverTheLinkDoes(t *testing.T) {
	first, seeds := number("RELAY_SEED", 1), number("RELAY_SEEDS", 25)
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newWorld(t, seed).run() })
		})
	}
}

func number(env string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(env), 10, 64); err == nil {
		return n
	}
	return otherwise
}

const (
	simTTL    = 12 * time.Second
	simChaos  = 5 * time.Minute // then the link heals
	simLatest = 2 * simTTL      // the longest that a request is on its way, or work goes on unasked
	simRetry  = time.Second
)

var (
	errStopped = errors.New("the world ends")
	errWork    = errors.New("the work has failed")
)

type world struct {
	t     *testing.T
	store *memory.LeaseStore
	fence relay.Fence
	calm  atomic.Bool
	late  sync.WaitGroup // requests on their way

	mu       sync.Mutex // guards what follows
	rng      *rand.Rand
	terms    map[relay.Token]*simTerm // those that may be on
	last     relay.Token              // of the terms so far
	admitted relay.Token              // of the writes so far
	began    int                      // terms
}

type simTerm struct {
	relay.Term
	led  context.Context
	runs bool // its work does
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{
		t: t, store: memory.NewLeaseStore(nil), terms: map[relay.Token]*simTerm{},
		rng: rand.New(rand.NewPCG(seed, 0)),
	}
}

func (w *world) run() {
	ctx, stop := context.WithCancelCause(context.Background())
	var instances, watcher sync.WaitGroup
	for i := range 2 + w.below(4) {
		instances.Go(func() { w.instance(ctx, fmt.Sprint("node-", i)) })
	}
	watcher.Go(func() { w.watch(ctx) })

	time.Sleep(simChaos)
	w.calm.Store(true)
	time.Sleep(2*simLatest + simTTL + simRetry) // the last work ends, the last request arrives, its lease lapses
	if w.leading() != 1 {
		w.t.Error("nobody leads although the link has healed")
	}

	stop(errStopped)
	stopped := time.Now()
	instances.Wait()
	if took := time.Since(stopped); took > time.Second {
		w.t.Errorf("a graceful stop over a good link took %v", took)
	}
	if held, err := w.store.Current(context.Background(), "role"); !errors.Is(err, relay.ErrNotHeld) {
		w.t.Errorf("nobody is left, and the role is held: %+v, %v", held, err)
	}
	watcher.Wait()
	w.late.Wait()
	if w.began < 2 {
		w.t.Errorf("%d terms: nothing was tried", w.began)
	}
}

// instance runs one elector after another, as a process that is restarted does.
func (w *world) instance(ctx context.Context, name string) {
	for ctx.Err() == nil {
		var returned, inside atomic.Int32
		observe := func(e relay.Event) {
			if returned.Load() > 0 {
				w.t.Errorf("%s was told %s after Run had returned", name, e.Kind)
			}
		}
		cfg := relay.LeaseElectorConfig{Owner: name, TTL: simTTL, RetryInterval: simRetry, Jitter: w.duration, Observer: observe}
		if w.below(3) == 0 {
			cfg.StallAfter = simTTL
		}
		if w.below(3) == 0 {
			cfg.HoldAtLeast = simTTL
		}
		e, err := relay.NewLeaseElector(link{w, &outage{}}, cfg)
		require.NoError(w.t, err)
		func() {
			defer func() {
				returned.Add(1)
				if v := recover(); v != nil && v != errWork { // a panic of the work comes through
					panic(v)
				}
			}()
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			if w.below(2) == 0 { // a graceful stop, at whatever moment
				defer time.AfterFunc(w.duration(simChaos), func() {
					if !w.calm.Load() {
						cancel(errStopped)
					}
				}).Stop()
			}
			ended := false // ctx, when the last work returned
			err = e.Run(ctx, "role", func(led context.Context, term relay.Term) error {
				if inside.Add(1) != 1 {
					w.t.Error("one Run leads twice at a time")
				}
				defer func() {
					ended = ctx.Err() != nil
					w.ends(term)
					inside.Add(-1)
				}()
				w.begins(led, term)
				return w.work(led, term)
			})
			switch {
			case ctx.Err() != nil && err == errStopped:
			case !ended && (err == nil || err == errWork): // what the work returned
			default:
				w.t.Errorf("Run returned %v, its context being ended: %v", err, ctx.Err() != nil)
			}
		}()
		if inside.Load() != 0 {
			w.t.Error("the work outlives Run")
		}
	}
}

func (w *world) begins(led context.Context, term relay.Term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if term.Token() <= w.last {
		w.t.Errorf("a term with token %d after one with %d", term.Token(), w.last)
	}
	w.last = term.Token()
	w.terms[term.Token()] = &simTerm{term, led, true}
	w.began++
}

// underWork complains of a release of a term whose work still runs.
func (w *world) underWork(token relay.Token) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.terms[token]; s != nil && s.runs {
		w.t.Errorf("the lease with token %d is released under its work", token)
	}
}

func (w *world) ends(term relay.Term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.terms[term.Token()]; s != nil {
		s.runs = false
	}
}

// work writes until its context ends, or for longer, or until it has enough. It
// may be frozen between looking at its term and writing.
func (w *world) work(led context.Context, term relay.Term) error {
	for {
		if w.calm.Load() && led.Err() == nil {
			select {
			case <-led.Done():
			case <-time.After(time.Second):
			}
			term.Progress()
		}
		if term.Valid() {
			if !w.calm.Load() && w.below(8) == 0 {
				time.Sleep(w.duration(simLatest)) // frozen
			}
			if err := w.write(term.Token()); err != nil {
				return err
			}
		}
		if led.Err() != nil {
			if !w.calm.Load() {
				time.Sleep(w.duration(simLatest)) // winds down
			}
			return led.Err()
		}
		if w.calm.Load() {
			continue
		}
		term.Progress()
		time.Sleep(w.duration(3 * time.Second))
		switch w.below(24) {
		case 0:
			return nil
		case 1:
			return relay.ErrResign
		case 2:
			return errWork
		case 3:
			panic(errWork)
		}
	}
}

func (w *world) write(token relay.Token) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fence.Admit(token); err != nil {
		return err
	}
	if token < w.admitted {
		w.t.Errorf("a write of token %d after one of %d", token, w.admitted)
	}
	w.admitted = token
	return nil
}

// watch looks for two terms that are on at a time, by their contexts and by
// Valid. Copies of a term outlive its work, so those whose work has returned
// count too.
func (w *world) watch(ctx context.Context) {
	for ctx.Err() == nil {
		w.leading()
		time.Sleep(w.duration(200*time.Millisecond) + 1)
	}
}

func (w *world) leading() (valid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	acting := 0
	for token, s := range w.terms {
		if s.led.Err() == nil { // before Valid, which ends a context that is due
			acting++
		}
		switch {
		case s.Valid():
			valid++
		case !s.runs:
			delete(w.terms, token)
		}
	}
	if acting > 1 || valid > 1 {
		w.t.Errorf("%d contexts are on, %d terms valid", acting, valid)
	}
	return valid
}

func (w *world) below(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// duration returns a time up to most. It is the Jitter too.
func (w *world) duration(most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.Int64N(int64(most) + 1))
}
