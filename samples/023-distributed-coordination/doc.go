// Package coordination is sample 023: partitioning, connection-bound leader
// election, and locks on PostgreSQL.
//
// Read the tests in this order:
//
//	partitioning_test.go      which worker a key belongs to; no database
//	leader_election_test.go   one instance runs the job; no database, a FakeLock
//	fenced_lease_test.go      the same with a lease and a token; PostgreSQL
//	distributed_lock_test.go  session locks and transaction locks; PostgreSQL
//	two_processes_test.go     why a mutex is not enough; PostgreSQL
//	two_leaders_test.go       what a network fault does to a lock; PostgreSQL
//
// fake_lock_test.go and coordination_fixture_test.go set them up. Tests that
// need PostgreSQL are skipped where there is none; they say how to get one.
package coordination
