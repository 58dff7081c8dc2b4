package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/memory"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

func TestLocker_KeepsThePromisesOfALocker(t *testing.T) {
	relaytest.Locker(t, newLockers)
}

func TestLeaseStore_KeepsThePromisesOfALeaseStore(t *testing.T) {
	relaytest.LeaseStore(t, newStoresOnManualClock)
}

func TestNodeRegistry_KeepsThePromisesOfANodeRegistry(t *testing.T) {
	relaytest.NodeRegistry(t, newRegistriesOnManualClock)
}

// Waiting must leave the bubble's time free to move, and nothing that was
// started may outlive the bubble.
func TestEveryAdapter_KeepsItsPromisesInABubble(t *testing.T) {
	t.Run("Locker", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, relaytest.CheckLocker(t, newLockers))
		})
	})
	t.Run("LeaseStore", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, relaytest.CheckLeaseStore(t, func(testing.TB) relaytest.LeaseStoreSubject {
				return stores(memory.NewLeaseStore(nil), time.Sleep)
			}))
		})
	})
	t.Run("NodeRegistry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, relaytest.CheckNodeRegistry(t, func(_ testing.TB, ttl time.Duration) relaytest.NodeRegistrySubject {
				return registries(memory.NewNodeRegistry(ttl, nil), time.Sleep)
			}))
		})
	})
}

func newLockers(testing.TB) relaytest.LockerSubject {
	locker := memory.NewLocker()
	return relaytest.LockerSubject{A: locker, B: locker}
}

func newStoresOnManualClock(testing.TB) relaytest.LeaseStoreSubject {
	clock := newClock()
	return stores(memory.NewLeaseStore(clock.Now), clock.Advance)
}

func stores(store *memory.LeaseStore, elapse func(time.Duration)) relaytest.LeaseStoreSubject {
	return relaytest.LeaseStoreSubject{
		A: store, B: store, Elapse: elapse, Exact: true, AdvanceToken: store.AdvanceToken,
	}
}

func newRegistriesOnManualClock(_ testing.TB, ttl time.Duration) relaytest.NodeRegistrySubject {
	clock := newClock()
	return registries(memory.NewNodeRegistry(ttl, clock.Now), clock.Advance)
}

func registries(registry *memory.NodeRegistry, elapse func(time.Duration)) relaytest.NodeRegistrySubject {
	return relaytest.NodeRegistrySubject{A: registry, B: registry, Elapse: elapse, Exact: true}
}
