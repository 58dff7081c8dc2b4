// Package relaytest checks that an adapter keeps the promises of package relay.
// There is one suite per interface: Locker, LeaseStore and NodeRegistry. The
// adapters of this module pass them, and so should yours before anybody relies
// on it.
//
// # How to use it
//
// Give the suite a function that opens your adapter over a backend of its own,
// with nothing in it. A suite calls it once for each rule:
//
//	func TestStore_KeepsThePromisesOfALeaseStore(t *testing.T) {
//		relaytest.LeaseStore(t, func(t testing.TB) relaytest.LeaseStoreSubject {
//			server := startServer(t) // stopped by t.Cleanup
//			a, b := etcd.NewLeaseStore(server), etcd.NewLeaseStore(server)
//			return relaytest.LeaseStoreSubject{
//				A: a, B: b, // two processes
//				Elapse:       server.WaitFor,
//				AdvanceToken: a.AdvanceToken,
//				Close:        a.Close,
//			}
//		})
//	}
//
// Each rule is a subtest, and its name is the promise. A rule that fails says
// what it saw and what was promised:
//
//	--- FAIL: …/a_released_role_is_free_at_once_and_its_next_token_is_higher
//	    TryAcquireOrRenew by "bob" answered with token 1, want 2: each grant
//	    carries the role's previous token plus one, also after a release
//
// What an adapter can't do, such as lose a lock, it leaves nil in its subject.
// The rules about that are skipped, and say so.
//
// # Time
//
// The suites never sleep. They ask the subject to let time pass, by Elapse.
// With a clock that the test moves by hand (Exact) they also check the very
// instant of expiry. With a server's clock they don't, and they never depend on
// how fast the machine is: a lease that a rule needs alive has an hour, and
// nothing is asked of one that is about to lapse until it has. They let tens of
// milliseconds pass at a time, 600 ms in one rule for registries. A wait that
// must not succeed is given 20 ms.
//
// CheckLocker, CheckLeaseStore and CheckNodeRegistry return the verdict as an
// error and start no subtests, so that they can run in a testing/synctest
// bubble: that is how an adapter in memory shows that its waiters block on
// nothing outside the bubble.
//
// # What it can't check
//
// A suite that passes shows that no rule was broken in one short run. It does
// not kill servers, cut networks, or freeze processes. Nor does it know how
// your backend keeps its data: a token that is lost in a server crash, or a
// lease judged by the wrong clock, looks right here.
//
// In one place it asks for more than the interface promises. WaitReleased gives
// a hint, which may be wrong or missing; but when nobody else is around, one
// that returns while the lease is live, or that sleeps through its release, is
// of no use. The suite rejects both.
package relaytest
