package relay

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of names and times. They are the same in every adapter, so that a
// name which works in memory also works in a database.
const (
	maxNameBytes = 255
	minTTL       = time.Millisecond
	maxTTL       = 87_600 * time.Hour // ten years
)

// ValidateName returns nil for a name that every adapter takes: valid UTF-8, 1
// to 255 bytes, no NUL (PostgreSQL stores neither NUL nor broken UTF-8). Names
// are compared byte by byte: no case folding, no normal form. The error matches
// ErrInvalidName. Whoever writes an adapter calls it before any I/O.
func ValidateName(name string) error {
	return validateName("name", name, maxNameBytes)
}

// validateName is ValidateName with a narrower limit, for the parts to which an
// elector still adds a prefix or a nonce.
func validateName(what, name string, limit int) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: %s is empty", ErrInvalidName, what)
	case len(name) > limit:
		return fmt.Errorf("%w: %s has %d bytes, more than %d", ErrInvalidName, what, len(name), limit)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: %s %q is not valid UTF-8", ErrInvalidName, what, name)
	case strings.IndexByte(name, 0) >= 0:
		return fmt.Errorf("%w: %s %q contains NUL", ErrInvalidName, what, name)
	}
	return nil
}

// ValidateTTL returns nil for a lease's time to live that every adapter takes:
// 1 ms to 87,600 h (ten years). The error matches ErrInvalidTTL. Whoever writes
// an adapter calls it before any I/O.
func ValidateTTL(ttl time.Duration) error {
	if ttl < minTTL || ttl > maxTTL {
		return fmt.Errorf("%w: %v is not between %v and %v", ErrInvalidTTL, ttl, minTTL, maxTTL)
	}
	return nil
}
