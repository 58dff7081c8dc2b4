package relay

import (
	"context"
	"math"
	"time"
)

// Token is a fencing token. A store gives each grant of a role a higher one
// than all the grants before it, the first being 1; 0 means none. See Fence for
// what it is good for.
type Token int64

// MaxToken is the last token that a store grants.
const MaxToken Token = math.MaxInt64

// Lease is a role held for a limited time.
type Lease struct {
	Role  string
	Owner string
	Token Token

	// ExpiresAt is the moment at which the lease lapses, by the store's clock.
	// Don't compare it with a local one: a holder counts from before it sent
	// its request (see doc.go).
	ExpiresAt time.Time
}

// LeaseStore keeps at most one live lease for a role. Its own clock decides
// which are live: a lease is live before ExpiresAt and lapsed from then on.
//
// A role keeps its token for ever, also while nobody holds it.
//
// Every method refuses a role or owner that ValidateName refuses, and a TTL that
// ValidateTTL does, before any I/O, and is ErrClosed after a Close that the
// adapter may have.
type LeaseStore interface {
	// TryAcquireOrRenew grants the role if it is free or its lease has lapsed,
	// and renews the lease if owner holds it and it is still live. Either way
	// the lease then lives for ttl from now, a shorter rest or a longer one
	// notwithstanding. A grant carries the role's previous token plus one,
	// whoever held it before, the same owner included; a renewal keeps the
	// token.
	//
	// When another owner's lease is live the answer is the zero Lease and a
	// *HeldError, which matches ErrNotAcquired. A role at MaxToken answers
	// ErrTokensExhausted. After any other error the outcome is unknown: the
	// lease may have been granted. Ask again with the same owner, which makes
	// it a renewal, or ask Current.
	//
	// ctx bounds the call. Once it has ended its error is returned and nothing
	// is sent.
	TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (Lease, error)

	// Release ends the lease at once. It is ErrNotHeld, and changes nothing,
	// unless the lease is live and has this role, owner and token; ExpiresAt
	// does not matter. It obeys ctx: detach it (context.WithoutCancel) for a
	// release on the way out.
	Release(ctx context.Context, lease Lease) error

	// Current returns the live lease of a role, or ErrNotHeld.
	Current(ctx context.Context, role string) (Lease, error)
}

// ReleaseWaiter is what a LeaseStore may offer besides: a hint that wakes a
// candidate early. Electors find it by type assertion.
type ReleaseWaiter interface {
	// WaitReleased returns nil once the role may be free: because its lease
	// was released, or because none is live when it is called. It does not
	// watch for the lapse of a lease. A nil may be wrong, and a wake-up may be
	// missing; candidates try on their own interval too. When ctx ends, or the
	// hint can't be had, it returns an error.
	WaitReleased(ctx context.Context, role string) error
}
