package relay_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

func TestFence_RefusesATokenLowerThanTheHighestSeen(t *testing.T) {
	var fence relay.Fence
	require.NoError(t, fence.Admit(33))
	require.NoError(t, fence.Admit(33), "an equal token passes: a leader writes more than once")
	require.NoError(t, fence.Admit(36), "tokens may skip")

	err := fence.Admit(35)
	require.ErrorIs(t, err, relay.ErrStaleToken)
	var stale *relay.StaleTokenError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, relay.StaleTokenError{Token: 35, Highest: 36}, *stale)
	require.EqualError(t, err, "relay: stale token: 35 < 36")

	require.NoError(t, fence.Admit(36), "a refusal leaves the mark where it was")
	require.NoError(t, fence.Admit(relay.MaxToken))
	require.ErrorIs(t, fence.Admit(relay.MaxToken-1), relay.ErrStaleToken)
}

func TestFence_RefusesWhatNoStoreGrants(t *testing.T) {
	var fence relay.Fence
	for _, token := range []relay.Token{0, -1, -1 << 63} {
		err := fence.Admit(token)
		require.ErrorIs(t, err, relay.ErrInvalidToken)
		require.NotErrorIs(t, err, relay.ErrStaleToken, "nobody was overtaken")
	}
	require.NoError(t, fence.Admit(1))
}

func TestFence_AdmittedTokensNeverFallUnderConcurrentWrites(t *testing.T) {
	var (
		fence    relay.Fence
		mu       sync.Mutex // makes check and write one step, as a resource must
		admitted []relay.Token
		writers  sync.WaitGroup
	)
	for range 8 {
		writers.Go(func() {
			for range 1_000 {
				token := relay.Token(1 + rand.N(500))
				mu.Lock()
				if fence.Admit(token) == nil {
					admitted = append(admitted, token)
				}
				mu.Unlock()
				_ = fence.Admit(token) // and without the mutex, for the race detector
			}
		})
	}
	writers.Wait()
	for i := 1; i < len(admitted); i++ {
		require.GreaterOrEqual(t, admitted[i], admitted[i-1], "token %d accepted after %d: a fence never goes back", admitted[i], admitted[i-1])
	}
}
