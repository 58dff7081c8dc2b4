package relaytest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

var contentionRules = []rule[LeaseStoreSubject]{
	{"of many that try a free role one gets it", func(tr *trial, s LeaseStoreSubject) {
		const contenders = 8
		var mu sync.Mutex
		var granted []relay.Lease
		var refused []*relay.HeldError
		tr.all(contenders, func(i int) error {
			lease, err := s.either(i).TryAcquireOrRenew(tr.ctx, role, fmt.Sprint("owner ", i), long)
			mu.Lock()
			defer mu.Unlock()
			var held *relay.HeldError
			switch {
			case err == nil:
				granted = append(granted, lease)
			case errors.As(err, &held):
				refused = append(refused, held)
			default:
				return fmt.Errorf("under contention TryAcquireOrRenew: %w; want a lease or a *HeldError", err)
			}
			return nil
		})
		if len(granted) != 1 {
			tr.fail("%d of %d owners got the role: one at a time", len(granted), contenders)
		}
		for _, held := range refused {
			if !same(held.Lease, granted[0]) {
				tr.fail("refused in favour of %s; want the one that got it: %s", text(held.Lease), text(granted[0]))
			}
		}
	}},
	{"tokens rise from grant to grant while owners take turns", func(tr *trial, s LeaseStoreSubject) {
		const owners, turns = 4, 5
		var mu sync.Mutex
		var last relay.Token // of the last grant: each is noted before it is released
		tr.all(owners, func(i int) error {
			store, owner := s.either(i), fmt.Sprint("owner ", i)
			for turn := 0; turn < turns; {
				lease, err := store.TryAcquireOrRenew(tr.ctx, role, owner, long)
				if errors.Is(err, relay.ErrNotAcquired) {
					s.Elapse(time.Millisecond) // let the holder come to its release
					continue
				}
				if err != nil {
					return fmt.Errorf("under contention TryAcquireOrRenew: %w; want a lease or a *HeldError", err)
				}
				turn++
				mu.Lock()
				before := last
				last = lease.Token
				mu.Unlock()
				if lease.Token != before+1 {
					return fmt.Errorf("token %d granted after %d: each grant carries the previous token plus one", lease.Token, before)
				}
				if err := store.Release(tr.ctx, lease); err != nil {
					return fmt.Errorf("under contention Release by the live holder: %w; want nil", err)
				}
			}
			return nil
		})
	}},
	{"a token has one owner, also where leases lapse under contention", func(tr *trial, s LeaseStoreSubject) {
		const owners, tries = 4, 25
		const ttl = time.Millisecond
		var mu sync.Mutex
		ownerOf := make(map[relay.Token]string)
		tr.all(owners, func(i int) error {
			store, owner := s.either(i), fmt.Sprint("owner ", i)
			var last relay.Token
			for range tries {
				lease, err := store.TryAcquireOrRenew(tr.ctx, role, owner, ttl)
				if err != nil && !errors.Is(err, relay.ErrNotAcquired) {
					return fmt.Errorf("under contention TryAcquireOrRenew: %w; want a lease or a *HeldError", err)
				}
				if err == nil {
					mu.Lock()
					other, taken := ownerOf[lease.Token]
					ownerOf[lease.Token] = owner
					mu.Unlock()
					if taken && other != owner {
						return fmt.Errorf("token %d granted to %q and to %q: a token belongs to one owner", lease.Token, other, owner)
					}
					if lease.Token < last {
						return fmt.Errorf("token %d granted after %d: a store never goes back", lease.Token, last)
					}
					last = lease.Token
				}
				s.Elapse(ttl)
			}
			return nil
		})
	}},
}
