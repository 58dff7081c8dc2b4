package relaytest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

const (
	// ruleTimeout bounds each rule. Every call gets a context that ends then,
	// so a call that never comes back becomes a failure that says which. Rules
	// that pass never wait for it.
	ruleTimeout = 30 * time.Second

	// grace is how long a call may go on after its context has ended.
	grace = 10 * time.Second

	// briefly bounds a wait that must not succeed. Too short would only make a
	// rule miss a broken adapter, never fail a good one.
	briefly = 20 * time.Millisecond
)

// subject is what rules work on. missing names the field that it can't do
// without and lacks, if any.
type subject interface{ missing() string }

// rule is one promise, checked on a subject of its own. Its name is the promise
// as a sentence.
type rule[S subject] struct {
	name  string
	check func(tr *trial, s S)
}

// run checks each rule in a subtest.
func run[S subject](t *testing.T, rules []rule[S], open func(t testing.TB) S) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			err := r.try(t.Context(), open(t))
			var reason notApplicable
			switch {
			case errors.As(err, &reason):
				t.Skip(reason.Error())
			case err != nil:
				t.Error(err)
			}
		})
	}
}

// report checks each rule and joins what it found, each under its rule's name.
func report[S subject](t testing.TB, rules []rule[S], open func(t testing.TB) S) error {
	t.Helper()
	var broken []error
	for _, r := range rules {
		err := r.try(t.Context(), open(t))
		if err != nil && !errors.As(err, new(notApplicable)) {
			broken = append(broken, fmt.Errorf("%s: %w", r.name, err))
		}
	}
	return errors.Join(broken...)
}

// try runs one rule. What it started has ended when it returns, unless the
// error says otherwise.
func (r rule[S]) try(ctx context.Context, s S) (err error) {
	ctx, cancel := context.WithTimeout(ctx, ruleTimeout)
	tr := &trial{ctx: ctx}
	defer func() {
		cancel()
		if stuck := tr.join(); stuck != nil {
			err = errors.Join(err, stuck)
		}
	}()
	defer func() {
		switch v := recover().(type) {
		case nil:
		case failure:
			err = v
		case notApplicable:
			err = v
		default:
			panic(v)
		}
	}()
	r.check(tr, complete(s))
	return nil
}

// complete returns s, or fails the rule if s lacks what it needs.
func complete[S subject](s S) S {
	if field := s.missing(); field != "" {
		panic(failure(fmt.Sprintf("the subject's %s is nil: open has to set it", field)))
	}
	return s
}

// failure is why a rule failed, and notApplicable why it was not tried. Both
// travel as a panic from deep inside a rule to try, so that rules read as a
// list of steps.
type (
	failure       string
	notApplicable string
)

func (f failure) Error() string       { return string(f) }
func (n notApplicable) Error() string { return string(n) }

// trial is one run of one rule. Its methods belong on the goroutine of the
// rule: what runs beside it returns errors instead.
type trial struct {
	ctx     context.Context // ends with the rule
	started sync.WaitGroup  // what async has started
}

// fail ends the rule.
func (tr *trial) fail(format string, args ...any) {
	panic(failure(fmt.Sprintf(format, args...)))
}

// skip ends a rule that does not concern the adapter.
func (tr *trial) skip(reason string) { panic(notApplicable(reason)) }

// ended returns a context that has ended.
func (tr *trial) ended() context.Context {
	ctx, cancel := context.WithCancel(tr.ctx)
	cancel()
	return ctx
}

// brief returns a context that ends soon, and its end.
func (tr *trial) brief() (context.Context, context.CancelFunc) {
	return context.WithTimeout(tr.ctx, briefly)
}

// async runs call beside the rule and returns where its answer arrives.
func async[T any](tr *trial, call func() T) <-chan T {
	answer := make(chan T, 1)
	tr.started.Go(func() { answer <- call() })
	return answer
}

// await returns the next value of c. When none comes the rule fails, saying
// that it waited for what.
func await[T any](tr *trial, c <-chan T, what string) T {
	select {
	case v := <-c:
		return v
	case <-tr.ctx.Done():
		tr.fail("waited %v in vain: %s", ruleTimeout, what)
		panic("unreachable")
	}
}

// all runs n calls at once, each with its number, and fails with the first
// error that one of them returned.
func (tr *trial) all(n int, call func(i int) error) { tr.begin(n, call)() }

// begin starts what all runs, and returns the rest of all.
func (tr *trial) begin(n int, call func(i int) error) (finish func()) {
	answers := make(chan error, n)
	for i := range n {
		tr.started.Go(func() { answers <- call(i) })
	}
	return func() {
		for range n {
			if err := await(tr, answers, "calls that run at the same time all return"); err != nil {
				tr.fail("%v", err)
			}
		}
	}
}

// join waits for what async has started. The rule's context has ended.
func (tr *trial) join() error {
	joined := make(chan struct{})
	go func() {
		tr.started.Wait()
		close(joined)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-joined:
		return nil
	case <-timer.C:
		return failure(fmt.Sprintf("a call has not returned %v after its context ended", grace))
	}
}
