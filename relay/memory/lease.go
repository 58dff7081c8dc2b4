package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

var (
	_ relay.LeaseStore    = (*LeaseStore)(nil)
	_ relay.ReleaseWaiter = (*LeaseStore)(nil)
)

// LeaseStore keeps leases for the goroutines that share it. The zero value is
// ready, on time.Now; a LeaseStore must not be copied.
//
// Whether a lease is live depends on its record and the clock alone: it is
// while now < ExpiresAt. No timer is behind it.
type LeaseStore struct {
	now clock

	mu   sync.Mutex // guards rows, and each row in it
	rows map[string]*row
}

// row is what a role has been through so far. It is never deleted, so that the
// token of a role never starts again.
type row struct {
	// lease is the last one granted. Release sets its ExpiresAt to the zero
	// time, which no clock is before.
	lease relay.Lease

	// released is closed by the next Release; nil while nobody waits for it.
	released chan struct{}
}

func (r *row) live(now time.Time) bool { return now.Before(r.lease.ExpiresAt) }

// NewLeaseStore returns a store without leases whose clock is now, or time.Now
// for nil. now is called from any goroutine, one call at a time; it must not
// call the store.
func NewLeaseStore(now func() time.Time) *LeaseStore {
	return &LeaseStore{now: now}
}

// TryAcquireOrRenew grants the role if no lease of it is live, extends the
// lease if owner holds it, and refuses with a *relay.HeldError if somebody else
// does. On any error nothing has changed.
func (s *LeaseStore) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	err := errors.Join(relay.ValidateName(role), relay.ValidateName(owner), relay.ValidateTTL(ttl))
	if err != nil {
		return relay.Lease{}, err
	}
	if err := ctx.Err(); err != nil {
		return relay.Lease{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Read inside the lock: a caller that had to wait for it must not be judged
	// by the time at which it began to wait.
	now := s.now.time()
	r := s.row(role)
	switch {
	case r.live(now) && r.lease.Owner != owner:
		return relay.Lease{}, &relay.HeldError{Lease: r.lease}
	case r.live(now):
		// A renewal keeps the token.
	case r.lease.Token == relay.MaxToken:
		return relay.Lease{}, fmt.Errorf("%w: role %q", relay.ErrTokensExhausted, role)
	default:
		r.lease.Token++
	}
	r.lease.Owner = owner
	r.lease.ExpiresAt = now.Add(ttl)
	return r.lease, nil
}

// row returns the row of a role, a new one with token 0 and no live lease if
// the role was never seen. The caller has mu.
func (s *LeaseStore) row(role string) *row {
	r := s.rows[role]
	if r == nil {
		if s.rows == nil {
			s.rows = make(map[string]*row)
		}
		r = &row{lease: relay.Lease{Role: role}}
		s.rows[role] = r
	}
	return r
}

// Release ends the lease at once and wakes those who wait for that. It is
// relay.ErrNotHeld, and changes nothing, unless the lease is live and has this
// role, owner and token; its ExpiresAt does not matter.
func (s *LeaseStore) Release(ctx context.Context, lease relay.Lease) error {
	err := errors.Join(relay.ValidateName(lease.Role), relay.ValidateName(lease.Owner))
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[lease.Role]
	if r == nil || !r.live(s.now.time()) || r.lease.Owner != lease.Owner || r.lease.Token != lease.Token {
		return fmt.Errorf("%w: role %q by %q with token %d", relay.ErrNotHeld, lease.Role, lease.Owner, lease.Token)
	}
	r.lease.ExpiresAt = time.Time{}
	if r.released != nil {
		close(r.released)
		r.released = nil
	}
	return nil
}

// Current returns the live lease of a role, or relay.ErrNotHeld.
func (s *LeaseStore) Current(ctx context.Context, role string) (relay.Lease, error) {
	if err := relay.ValidateName(role); err != nil {
		return relay.Lease{}, err
	}
	if err := ctx.Err(); err != nil {
		return relay.Lease{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[role]
	if r == nil || !r.live(s.now.time()) {
		return relay.Lease{}, fmt.Errorf("%w: role %q", relay.ErrNotHeld, role)
	}
	return r.lease, nil
}

// AdvanceToken makes the next grant of a role carry at least atLeast + 1, for
// stores that have forgotten tokens which a resource remembers. A token that is
// already higher stays, and so does the expiry of a live lease: its holder's
// next renewal is answered with the raised token, which ends the term. That is
// atLeast + 1 too, so that nobody goes on, or begins, under a token that the
// resource may have seen: a candidate whose grant was not answered takes the
// renewal for the grant. 0 does nothing; below 0 is relay.ErrInvalidToken.
func (s *LeaseStore) AdvanceToken(ctx context.Context, role string, atLeast relay.Token) error {
	if err := relay.ValidateName(role); err != nil {
		return err
	}
	if atLeast < 0 {
		return fmt.Errorf("%w: %d is below 0", relay.ErrInvalidToken, atLeast)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.row(role)
	switch {
	case r.lease.Token > atLeast:
	case r.live(s.now.time()) && atLeast < relay.MaxToken:
		r.lease.Token = atLeast + 1
	default:
		r.lease.Token = atLeast
	}
	return nil
}

// WaitReleased returns nil when the role's lease is released, or at once when
// none is live. The lapse of a lease does not wake it. When ctx ends, or has
// ended already, it returns ctx.Err().
func (s *LeaseStore) WaitReleased(ctx context.Context, role string) error {
	if err := relay.ValidateName(role); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	released := s.nextRelease(role)
	if released == nil {
		return nil
	}
	select {
	case <-released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nextRelease returns a channel that the role's next Release closes, or nil if
// no lease is live. Asking and registering is one step, so that no release
// falls between the two.
func (s *LeaseStore) nextRelease(role string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[role]
	if r == nil || !r.live(s.now.time()) {
		return nil
	}
	if r.released == nil {
		r.released = make(chan struct{})
	}
	return r.released
}
