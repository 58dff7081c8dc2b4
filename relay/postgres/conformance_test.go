package postgres_test

import (
	"testing"
	"time"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
	"github.com/relay-samples/relay-go/relay/relaytest"
)

func TestLocker_KeepsThePromisesOfRelay(t *testing.T) {
	db := newDatabase(t) // each rule closes its Lockers, which leaves nothing held
	relaytest.Locker(t, func(t testing.TB) relaytest.LockerSubject {
		cfg := postgres.LockerConfig{TTL: 3 * time.Minute, RetryInterval: 20 * time.Millisecond} // patient on a busy machine
		a, b := db.locker(t, cfg), db.locker(t, cfg)
		return relaytest.LockerSubject{
			A: a, B: b,
			Lose:  func(lock relay.Lock) { db.terminate(t, db.holder(t, lock.Name())) },
			Close: a.Close,
		}
	})
}

func TestLeaseStore_KeepsThePromisesOfRelay(t *testing.T) {
	all := newDatabase(t)
	relaytest.LeaseStore(t, func(t testing.TB) relaytest.LeaseStoreSubject {
		db := all.schema(t)
		a, b := db.leases(t, postgres.LeaseStoreConfig{}), db.leases(t, postgres.LeaseStoreConfig{})
		return relaytest.LeaseStoreSubject{
			A: a, B: b,
			Elapse:       func(d time.Duration) { db.sleep(t, d) },
			AdvanceToken: a.AdvanceToken,
			Close:        a.Close,
		}
	})
}

func TestNodeRegistry_KeepsThePromisesOfRelay(t *testing.T) {
	all := newDatabase(t)
	relaytest.NodeRegistry(t, func(t testing.TB, livenessTTL time.Duration) relaytest.NodeRegistrySubject {
		db := all.schema(t)
		a, b := db.registry(t, "group", livenessTTL), db.registry(t, "group", livenessTTL)
		return relaytest.NodeRegistrySubject{
			A: a, B: b, OtherGroup: db.registry(t, "other group", livenessTTL),
			Elapse: func(d time.Duration) { db.sleep(t, d) },
			Close:  a.Close,
		}
	})
}
