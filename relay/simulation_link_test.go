package relay_test

import (
	"context"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// link is an instance's way to the store.
type link struct {
	*world
	*outage
}

type outage struct {
	mu    sync.Mutex // guards until
	until time.Time
}

// cutOff begins an outage of d, if that is positive, and says whether one is on.
func (o *outage) cutOff(d time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d > 0 {
		o.until = time.Now().Add(d)
	}
	return time.Now().Before(o.until)
}

func (l link) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	return send(ctx, l, func(ctx context.Context) (relay.Lease, error) {
		return l.store.TryAcquireOrRenew(ctx, role, owner, ttl)
	})
}

func (l link) Release(ctx context.Context, lease relay.Lease) error {
	l.underWork(lease.Token)
	_, err := send(ctx, l, func(ctx context.Context) (relay.Lease, error) {
		return relay.Lease{}, l.store.Release(ctx, lease)
	})
	return err
}

func (l link) Current(ctx context.Context, role string) (relay.Lease, error) {
	return send(ctx, l, func(ctx context.Context) (relay.Lease, error) { return l.store.Current(ctx, role) })
}

type answered struct {
	lease relay.Lease
	err   error
}

// send runs a request at the store: once, late, twice or never.
func send(ctx context.Context, l link, request func(context.Context) (relay.Lease, error)) (relay.Lease, error) {
	if err := ctx.Err(); err != nil {
		return relay.Lease{}, err
	}
	reply := make(chan answered, 2)
	deliver := func(there, back time.Duration, lost bool) {
		l.late.Go(func() {
			time.Sleep(there)
			lease, err := request(context.Background())
			time.Sleep(back)
			if !lost {
				reply <- answered{lease, err}
			}
		})
	}
	fate := l.below(20)
	if l.calm.Load() {
		fate = 19
	} else if l.cutOff(0) {
		fate = 0
	}
	brief := func() time.Duration { return l.duration(50 * time.Millisecond) }
	switch fate {
	case 0: // it never arrives
		if l.below(4) == 0 {
			l.cutOff(l.duration(2 * simTTL))
		}
	case 1: // it runs, and the answer is lost
		deliver(brief(), 0, true)
	case 2: // late, maybe long after the sender has given up
		deliver(l.duration(simLatest), brief(), false)
	case 3: // it runs in time and the answer is slow
		deliver(brief(), l.duration(simTTL/6), false)
		if l.below(2) == 0 { // and the last for a while
			l.cutOff(l.duration(2 * simTTL))
		}
	case 4: // twice, the second time late
		deliver(brief(), brief(), false)
		deliver(l.duration(simLatest), 0, true)
	case 5:
		return relay.Lease{}, errStoreDown
	default:
		deliver(brief(), brief(), false)
	}
	select {
	case a := <-reply:
		return a.lease, a.err
	case <-ctx.Done():
		return relay.Lease{}, ctx.Err()
	}
}
