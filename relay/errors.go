package relay

import (
	"errors"
	"fmt"
)

// The errors that callers act on. Adapters wrap them, so compare with
// errors.Is.
var (
	// ErrNotAcquired says that somebody else holds the lock or the lease, or
	// that the wait for it ended first. Nothing is held.
	ErrNotAcquired = errors.New("relay: not acquired")

	// ErrNotHeld says that the caller does not hold what it wanted to release,
	// or that nobody holds what it asked about. Nothing was changed.
	ErrNotHeld = errors.New("relay: not held")

	// ErrLost says that a lock or a term ended before its holder gave it up.
	// It is the cause of the context that was cancelled for it.
	ErrLost = errors.New("relay: lost")

	// ErrResign is what the work of an elector returns to step down and to
	// stand again after a full retry interval.
	ErrResign = errors.New("relay: resign")

	// ErrStaleToken says that a fenced resource has seen a higher token: a
	// later leader has written. The holder of the lower token is not the
	// leader, whatever it believes.
	ErrStaleToken = errors.New("relay: stale token")

	// ErrInvalidName says that a name, role, owner or node is not usable: see
	// ValidateName.
	ErrInvalidName = errors.New("relay: invalid name")

	// ErrInvalidTTL says that a time to live is out of range: see ValidateTTL.
	ErrInvalidTTL = errors.New("relay: invalid TTL")

	// ErrInvalidToken says that a token is not one that a store grants: those
	// begin at 1.
	ErrInvalidToken = errors.New("relay: invalid token")

	// ErrTokensExhausted says that a role's token stands at MaxToken. It is
	// never wrapped around to a lower one, so the role can't be granted again.
	ErrTokensExhausted = errors.New("relay: tokens exhausted")

	// ErrClosed says that the adapter was closed.
	ErrClosed = errors.New("relay: closed")
)

// HeldError is a refusal that tells who holds the lease instead. It matches
// ErrNotAcquired.
type HeldError struct {
	Lease Lease // the holder's, as the store saw it when it refused
}

// Error names the holder, its token and when its lease lapses.
func (e *HeldError) Error() string {
	return fmt.Sprintf("relay: role %q is held by %q with token %d until %s",
		e.Lease.Role, e.Lease.Owner, e.Lease.Token, e.Lease.ExpiresAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
}

// Is makes errors.Is(err, ErrNotAcquired) true.
func (e *HeldError) Is(target error) bool { return target == ErrNotAcquired }

// StaleTokenError is a write refused by a fence, with the token that it
// carried and the highest one that the fence has seen. It matches
// ErrStaleToken.
type StaleTokenError struct {
	Token   Token
	Highest Token
}

// Error shows the two tokens.
func (e *StaleTokenError) Error() string {
	return fmt.Sprintf("relay: stale token: %d < %d", e.Token, e.Highest)
}

// Is makes errors.Is(err, ErrStaleToken) true.
func (e *StaleTokenError) Is(target error) bool { return target == ErrStaleToken }
