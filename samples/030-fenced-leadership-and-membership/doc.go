// Package leadership is sample 030: fenced leader election over a renewable
// lease, and membership by heartbeat.
//
// Read the tests in this order:
//
//	lease_store_test.go              the lease, its token, and the fence
//	fenced_leader_election_test.go   a leader that renews, stalls, and is fenced
//	election_times_test.go           how long a term is trusted, and by which clock
//	node_registry_test.go            who is alive, and what that is not good for
//	coordinator_test.go              all three together: the article's exercise
//
// instance_test.go has what the elections share: an instance whose link to the
// store can be cut.
//
// The tests use the in-memory adapters: no database, and no test waits for a
// clock on the wall. What expires is tested with the ManualClock of
// manual_clock_test.go, what loops in testing/synctest bubbles, whose clock
// jumps ahead whenever every goroutine waits.
//
// cmd/leader runs the same election on PostgreSQL, for two terminals.
package leadership
