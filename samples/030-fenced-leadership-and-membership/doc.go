// Package leadership is sample 030: fenced leader election over a renewable
// lease, and membership by heartbeat.
//
// Read the tests in this order:
//
//	lease_store_test.go              the lease and its token
//	fenced_leader_election_test.go   a leader that renews, stalls, and is fenced
//	node_registry_test.go            who is alive, and what that is not good for
//
// They use the in-memory adapters: no database, and no test waits for a clock
// on the wall. What expires is tested with the ManualClock of
// manual_clock_test.go, what loops in testing/synctest bubbles, whose clock
// jumps ahead whenever every goroutine waits.
//
// cmd/leader runs the same election on PostgreSQL, for two terminals.
package leadership
