package relaytest_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

// process is a Locker as one of several processes has it: it shares a backend
// with the others, its locks can be lost, and it can be closed. It keeps all
// the promises; the broken adapters are made from it.
type process struct {
	backend *memory.Locker
	open    context.Context // ends with cause ErrClosed
	close   context.CancelCauseFunc

	mu   sync.Mutex // guards held
	held map[string]*held
}

func newProcess(backend *memory.Locker) *process {
	p := &process{backend: backend, held: make(map[string]*held)}
	p.open, p.close = context.WithCancelCause(context.Background())
	return p
}

// newSubject returns a subject of two processes, and the first of them.
func newSubject() (*relaytest.LockerSubject, *process) {
	backend := memory.NewLocker()
	a, b := newProcess(backend), newProcess(backend)
	return &relaytest.LockerSubject{
		A: a, B: b, Close: a.Close,
		Lose: func(l relay.Lock) { a.lose(l.Name(), fmt.Errorf("the session was killed")) },
	}, a
}

func (p *process) TryAcquire(ctx context.Context, name string) (relay.Lock, error) {
	return p.take(ctx, name, p.backend.TryAcquire)
}

func (p *process) Acquire(ctx context.Context, name string) (relay.Lock, error) {
	return p.take(ctx, name, p.backend.Acquire)
}

func (p *process) take(ctx context.Context, name string, take acquireFunc) (relay.Lock, error) {
	if p.open.Err() != nil {
		return nil, relay.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.open, func() { cancel(relay.ErrClosed) })()
	lock, err := take(ctx, name)
	switch {
	case context.Cause(ctx) == relay.ErrClosed && err == nil:
		return nil, fmt.Errorf("%w: %w", relay.ErrClosed, lock.Release(ctx))
	case context.Cause(ctx) == relay.ErrClosed:
		return nil, relay.ErrClosed
	case err != nil:
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &held{Lock: lock, process: p, lost: make(chan struct{})}
	p.held[name] = h
	return h, nil
}

// lose takes the lock of a name away from whoever holds it in this process.
func (p *process) lose(name string, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[name]
	if h == nil {
		return
	}
	delete(p.held, name)
	h.loss = fmt.Errorf("%w: %w", relay.ErrLost, cause)
	close(h.lost)
	_ = h.Lock.Release(context.Background())
}

func (p *process) Close(context.Context) error {
	p.close(relay.ErrClosed)
	for _, name := range p.names() {
		p.lose(name, relay.ErrClosed)
	}
	return nil
}

func (p *process) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name := range p.held {
		names = append(names, name)
	}
	return names
}

// held is a lock that its process holds or has held.
type held struct {
	relay.Lock
	process *process
	lost    chan struct{}
	loss    error // why it was lost; process.mu guards it
}

func (h *held) Lost() <-chan struct{} { return h.lost }

func (h *held) Release(ctx context.Context) error {
	h.process.mu.Lock()
	defer h.process.mu.Unlock()
	if h.process.held[h.Name()] == h {
		delete(h.process.held, h.Name())
	}
	if h.loss != nil {
		return h.loss
	}
	return h.Lock.Release(ctx)
}
