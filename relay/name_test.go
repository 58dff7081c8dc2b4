package relay_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

func TestValidateName_TakesWhatEveryAdapterTakes(t *testing.T) {
	for _, name := range []string{"a", "leader:reports", "ein Straßenname", "注文/42", "\n", "🔒", strings.Repeat("x", 255)} {
		require.NoError(t, relay.ValidateName(name), "%q", name)
	}
	for name, why := range map[string]string{
		"":                       "is empty",
		strings.Repeat("x", 256): "256 bytes",
		strings.Repeat("é", 128): "256 bytes", // bytes count, not runes
		"a\x00b":                 "contains NUL",
		"a\xffb":                 "not valid UTF-8",
		"\xed\xa0\x80":           "not valid UTF-8", // a surrogate half
	} {
		err := relay.ValidateName(name)
		require.ErrorIs(t, err, relay.ErrInvalidName)
		require.ErrorContains(t, err, why)
	}
}

func TestValidateTTL_TakesOneMillisecondToTenYears(t *testing.T) {
	for _, ttl := range []time.Duration{time.Millisecond, 30 * time.Second, 87_600 * time.Hour} {
		require.NoError(t, relay.ValidateTTL(ttl), "%v", ttl)
	}
	for _, ttl := range []time.Duration{0, -time.Second, time.Millisecond - 1, 87_600*time.Hour + 1, -1 << 63} {
		require.ErrorIs(t, relay.ValidateTTL(ttl), relay.ErrInvalidTTL, "%v", ttl)
	}
}

func TestHeldError_TellsWhoHoldsTheRole(t *testing.T) {
	err := error(&relay.HeldError{Lease: relay.Lease{Role: "reports", Owner: "node-a", Token: 7, ExpiresAt: time.Unix(1_800_000_000, 0)}})
	require.ErrorIs(t, err, relay.ErrNotAcquired)
	require.NotErrorIs(t, err, relay.ErrNotHeld)
	require.EqualError(t, err, `relay: role "reports" is held by "node-a" with token 7 until 2027-01-15T08:00:00.000Z`)
}

func TestErrors_DoNotMatchEachOther(t *testing.T) {
	all := []error{
		relay.ErrNotAcquired, relay.ErrNotHeld, relay.ErrLost, relay.ErrResign, relay.ErrStaleToken,
		relay.ErrInvalidName, relay.ErrInvalidTTL, relay.ErrInvalidToken, relay.ErrTokensExhausted, relay.ErrClosed,
	}
	for i, a := range all {
		require.True(t, strings.HasPrefix(a.Error(), "relay: "), a)
		for j, b := range all {
			require.Equal(t, i == j, errors.Is(a, b), "%v and %v", a, b)
		}
	}
}
