// Package coordination is sample 023: partitioning, connection-bound leader
// election, and locks on PostgreSQL. articles/023-distributed-coordination.md
// explains it.
//
// Read the tests in this order:
//
//	when_not_test.go          when no lock is the better choice
//	partitioning_test.go      which worker a key belongs to; no database
//	leader_election_test.go   one instance runs the job; no database, a FakeLock
//	fenced_lease_test.go      the same with a lease and a token; PostgreSQL
//	distributed_lock_test.go  session locks; PostgreSQL
//	shared_session_test.go    many of them on one connection; PostgreSQL
//	frozen_holder_test.go     a holder that is stalled but alive; PostgreSQL, Unix
//	transaction_lock_test.go  transaction locks, and a job that runs once; PostgreSQL
//	handover_test.go          partitions change hands; no database
//	two_processes_test.go     why a mutex is not enough; PostgreSQL
//	two_leaders_test.go       two leaders at once, after a connection broke; PostgreSQL
//
// fake_lock_test.go and coordination_fixture_test.go set them up;
// exercise_test.go solves the article's exercise. Tests that need PostgreSQL
// are skipped where there is none; they say how to get one.
package coordination
