package relay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay/internal/trust"
)

// Term is one stretch of leadership, granted with one token. It is a handle:
// copies are the same term. The zero Term is not valid and has no token.
//
//	request sent            trust ends           lease lapses
//	    |---- TTL − margin ------|---- margin --------|
//	    |<-- Valid is true ----->|                    |<-- another may lead
//
// Each answered renewal moves both ends, counted from before that renewal was
// sent. A slow reply therefore shortens the trust and never lengthens it.
type Term struct{ state *termState }

// Token is the term's fencing token. Stamp every write with it.
func (t Term) Token() Token {
	if t.state == nil {
		return 0
	}
	return t.state.token
}

// Valid says whether the term may still be trusted, by the clocks of this
// machine at this moment. It is right also just after a freeze, when the timer
// that ends the context has not fired yet. Once false it stays false, whatever
// the store answers later.
//
// It is no replacement for the token: the process can be paused between Valid
// and the write.
func (t Term) Valid() bool {
	return t.state != nil && t.state.valid()
}

// Progress tells the elector that the work gets on. It matters only with
// StallAfter, which ends a term whose work has not called it for that long.
func (t Term) Progress() {
	if t.state != nil {
		t.state.progressed()
	}
}

// termState is what the copies of a Term share with the elector.
type termState struct {
	token  Token
	trust  time.Duration // TTL − margin
	stall  time.Duration // 0: off
	cancel context.CancelCauseFunc
	onLost func(cause error) // called once, without mu
	over   chan struct{}     // closed when the term is over

	telling sync.WaitGroup // onLost, which may run on the timer's goroutine

	mu       sync.Mutex    // guards what follows
	sent     trust.Instant // just before the last answered request was sent
	progress trust.Instant
	working  bool // until lead returns; only then can it stall
	timer    *time.Timer
}

// startTerm begins a term that was granted in answer to a request sent at sent.
func startTerm(token Token, sent trust.Instant, cfg LeaseElectorConfig, cancel context.CancelCauseFunc, onLost func(error)) *termState {
	s := &termState{
		token:    token,
		trust:    cfg.TTL - cfg.Margin,
		stall:    cfg.StallAfter,
		cancel:   cancel,
		onLost:   onLost,
		over:     make(chan struct{}),
		sent:     sent,
		progress: trust.Now(),
		working:  true,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(s.left(trust.Now()), s.tick)
	return s
}

// left returns how long the term may be trusted from now on. Nothing is left
// once it is zero or negative. The caller holds mu.
func (s *termState) left(now trust.Instant) time.Duration {
	left := s.trust - now.Since(s.sent)
	if s.stall > 0 && s.working {
		left = min(left, s.stall-now.Since(s.progress))
	}
	return left
}

// tick is the timer's. Renewals don't reset the timer: it fires at the deadline
// that it was set for, finds time left, and sleeps for that.
func (s *termState) tick() {
	s.update(func(now trust.Instant) { s.timer.Reset(s.left(now)) })
}

// valid ends the term if its time has run out, and says whether it is on.
func (s *termState) valid() bool {
	return s.update(func(trust.Instant) {})
}

// renewed counts a renewal that was sent at sent and has been answered. It
// returns false, and counts nothing, if the term had run out by now.
func (s *termState) renewed(sent trust.Instant) bool {
	return s.update(func(trust.Instant) { s.sent = sent })
}

func (s *termState) progressed() {
	s.update(func(now trust.Instant) { s.progress = now })
}

// returned says that lead has returned: it can't stall any more.
func (s *termState) returned() {
	s.update(func(trust.Instant) { s.working = false })
}

// update runs change under mu unless the term is over, or is found to be over
// now. The order is what keeps a late reply from reviving a term.
func (s *termState) update(change func(now trust.Instant)) bool {
	s.mu.Lock()
	now := trust.Now()
	if s.ended() {
		s.mu.Unlock()
		return false
	}
	if s.left(now) > 0 {
		change(now)
		s.mu.Unlock()
		return true
	}
	cause := fmt.Errorf("%w: no renewal was answered for %v", ErrLost, s.trust)
	if s.trust-now.Since(s.sent) > 0 {
		cause = fmt.Errorf("%w: no progress was reported for %v", ErrLost, s.stall)
	}
	s.mu.Unlock()
	s.lose(cause)
	return false
}

// lose ends the term before its holder gave it up.
func (s *termState) lose(cause error) {
	s.mu.Lock()
	first := s.endLocked(cause)
	if first {
		s.telling.Add(1) // under mu: whoever ends the term after us waits for it
	}
	s.mu.Unlock()
	if first {
		defer s.telling.Done()
		s.onLost(cause)
	}
}

// end ends the term in good order.
func (s *termState) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(cause)
}

// endLocked ends the term for ever and cancels its context with cause. It
// returns false if the term was over already. The caller holds mu.
func (s *termState) endLocked(cause error) bool {
	if s.ended() {
		return false
	}
	close(s.over)
	s.timer.Stop()
	s.cancel(cause)
	return true
}

// ended reads the channel, so that there is one truth and no flag beside it.
func (s *termState) ended() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}
