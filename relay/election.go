package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relay-samples/relay-go/relay/internal/pause"
)

// LeaderElector runs work on one instance at a time, as far as a lock can tell:
// after a network fault two instances may believe for a while that they lead.
// The work must bear that, or use a FencedLeaderElector.
type LeaderElector interface {
	// Run campaigns for role until it is elected and then calls lead, on the
	// goroutine that called Run. The context that lead gets is cancelled with
	// cause ErrLost when the leadership is lost, and with ctx when that ends.
	//
	// When lead returns, Run gives the role up and returns lead's error, nil
	// included, except that
	//   - after a loss Run campaigns again, whatever lead returned, but not
	//     before a retry interval has passed since the grant;
	//   - an error that matches ErrResign or ErrStaleToken makes Run step down
	//     and campaign again after a full retry interval.
	//
	// When ctx ends, Run waits for lead, gives the role up and returns
	// context.Cause(ctx). Errors of lead that Run does not return, and errors
	// of the store, go to the observer. A panic of lead passes through after
	// the role was given up.
	Run(ctx context.Context, role string, lead func(ctx context.Context) error) error
}

// leaderPrefix keeps the names of roles apart from the names of other locks.
const leaderPrefix = "leader:"

// maxRoleBytes leaves room for leaderPrefix.
const maxRoleBytes = maxNameBytes - len(leaderPrefix)

// DefaultRetryInterval is the retry interval of a LockElector, and a sixth of
// DefaultTTL.
const DefaultRetryInterval = 5 * time.Second

// LockElectorConfig tunes a LockElector. The zero value works.
type LockElectorConfig struct {
	// RetryInterval, or P, is the longest wait after an Acquire that failed, and
	// after a term that was resigned. The wait is P/2 + Jitter(P/2). 0 is
	// DefaultRetryInterval. How soon a lock that is free is noticed is for the
	// Locker to say.
	RetryInterval time.Duration

	// HoldAtLeast keeps the lock for that long after the grant, also when lead
	// returns sooner, so that a short job does not run on every instance in
	// turn. Loss and the end of ctx cut it short; ErrResign and ErrStaleToken
	// skip it. 0 is off.
	HoldAtLeast time.Duration

	// Jitter returns a random duration from 0 to max. nil draws from
	// math/rand/v2; a simulation passes a seeded one.
	Jitter func(max time.Duration) time.Duration

	Observer Observer
}

// LockElector elects over a Locker: it holds the lock "leader:<role>" while the
// work runs. It lasts as long as the lock does, needs no table and no renewals,
// and has no token that a late write could be refused by.
type LockElector struct {
	locker Locker
	turn   turn
}

var _ LeaderElector = (*LockElector)(nil)

// NewLockElector returns an elector over l.
func NewLockElector(l Locker, cfg LockElectorConfig) (*LockElector, error) {
	if l == nil {
		return nil, errors.New("relay: NewLockElector: the Locker is nil")
	}
	t := turn{
		retry:       cmp.Or(cfg.RetryInterval, DefaultRetryInterval),
		holdAtLeast: cfg.HoldAtLeast,
		jitter:      cfg.Jitter,
		observer:    cfg.Observer,
	}
	if err := t.validate(); err != nil {
		return nil, fmt.Errorf("relay: NewLockElector: %w", err)
	}
	return &LockElector{locker: l, turn: t}, nil
}

// Run implements LeaderElector. It waits in Acquire; after an error of Acquire,
// a denial included, it tries again after the retry interval.
func (e *LockElector) Run(ctx context.Context, role string, lead func(ctx context.Context) error) error {
	switch {
	case e == nil || e.locker == nil:
		return errors.New("relay: LockElector.Run: not made by NewLockElector")
	case lead == nil:
		return errors.New("relay: LockElector.Run: lead is nil")
	}
	if err := validateName("role", role, maxRoleBytes); err != nil {
		return err
	}
	for ctx.Err() == nil {
		began := time.Now()
		lock, err := e.locker.Acquire(ctx, leaderPrefix+role)
		if err != nil {
			if ctx.Err() == nil {
				e.turn.refused(Event{Name: role, Took: time.Since(began), Err: err})
				e.turn.pause(ctx)
			}
			continue
		}
		if lock == nil {
			return fmt.Errorf("relay: LockElector.Run: the Locker granted %q without a lock", leaderPrefix+role)
		}
		v := e.serve(ctx, role, lock, lead)
		if v.done {
			return v.err
		}
		sleep(ctx, v.rest)
	}
	return context.Cause(ctx)
}

// serve leads once, and gives the lock up however lead ends.
func (e *LockElector) serve(ctx context.Context, role string, lock Lock, lead func(ctx context.Context) error) verdict {
	granted := time.Now()
	held, stop := watchLock(ctx, lock, func() {
		e.turn.observer.Emit(Event{Kind: EventLost, Name: role, Err: ErrLost})
	})
	defer func() { // also when lead panics or calls runtime.Goexit
		stop()
		began := time.Now()
		err := lock.Release(ctx)
		e.turn.released(Event{Name: role, Took: time.Since(began), Err: err})
	}()
	switch {
	case ctx.Err() != nil: // it ended while the lock was being granted
		return verdict{done: true, err: context.Cause(ctx)}
	case isClosed(lock.Lost()):
		return verdict{rest: e.turn.afterLoss(granted)}
	}
	e.turn.observer.Emit(Event{Kind: EventElected, Name: role})
	err := lead(held)
	return e.turn.conclude(ctx, role, granted, lock.Lost(), err)
}

// turn is what the electors share: how they wait between tries, and what they
// do when lead has returned.
type turn struct {
	retry       time.Duration // P, the longest wait between two tries
	holdAtLeast time.Duration
	jitter      func(max time.Duration) time.Duration
	observer    Observer
}

func (t turn) validate() error {
	switch {
	case t.retry < 0:
		return fmt.Errorf("RetryInterval %v is negative", t.retry)
	case t.holdAtLeast < 0:
		return fmt.Errorf("HoldAtLeast %v is negative", t.holdAtLeast)
	}
	return nil
}

// pause waits between two tries, or until ctx ends.
func (t turn) pause(ctx context.Context) {
	sleep(ctx, t.nextPause())
}

func (t turn) nextPause() time.Duration { return pause.Next(t.retry, t.jitter) }

// afterLoss is the rest after a term that was lost: none, unless it was shorter
// than P. Else a lock or lease that is lost as soon as it is granted would make
// a busy loop.
func (t turn) afterLoss(granted time.Time) time.Duration {
	return max(t.retry-time.Since(granted), 0)
}

// verdict is what Run does after a term.
type verdict struct {
	done bool          // Run returns err
	err  error         // of lead, or the cause of ctx
	rest time.Duration // before Run campaigns again
}

// conclude decides what Run does now that lead has returned err, and holds the
// role for HoldAtLeast where that applies. lost is closed when the term is.
func (t turn) conclude(ctx context.Context, role string, granted time.Time, lost <-chan struct{}, err error) verdict {
	switch {
	case ctx.Err() != nil:
		return t.stopped(ctx, role, err)
	case errors.Is(err, ErrResign), errors.Is(err, ErrStaleToken):
		t.leadFailed(role, err)
		return verdict{rest: t.retry} // whole: others come first
	case isClosed(lost):
		t.leadFailed(role, err)
		return verdict{rest: t.afterLoss(granted)}
	}
	hold := time.NewTimer(t.holdAtLeast - time.Since(granted))
	defer hold.Stop()
	select {
	case <-hold.C:
	case <-lost:
	case <-ctx.Done():
		return t.stopped(ctx, role, err)
	}
	return verdict{done: true, err: err}
}

// stopped is the verdict when ctx has ended. That lead returns the reason too
// is no failure.
func (t turn) stopped(ctx context.Context, role string, err error) verdict {
	cause := context.Cause(ctx)
	if !errors.Is(err, cause) && !errors.Is(err, ctx.Err()) {
		t.leadFailed(role, err)
	}
	return verdict{done: true, err: cause}
}

// leadFailed reports an error of lead that Run does not return.
func (t turn) leadFailed(role string, err error) {
	if err != nil && !errors.Is(err, ErrResign) {
		t.observer.Emit(Event{Kind: EventFailed, Name: role, Err: fmt.Errorf("lead: %w", err)})
	}
}

// refused reports a try that did not succeed.
func (t turn) refused(e Event) {
	e.Kind = EventFailed
	if errors.Is(e.Err, ErrNotAcquired) {
		e.Kind = EventDenied
	}
	t.observer.Emit(e)
}

// released reports the end of a hold.
func (t turn) released(e Event) {
	e.Kind = EventReleased
	if e.Err != nil {
		e.Kind, e.Err = EventFailed, fmt.Errorf("release: %w", e.Err)
	}
	t.observer.Emit(e)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
