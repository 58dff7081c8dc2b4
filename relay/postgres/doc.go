// Package postgres has relay's locks, leases, registry and fence on PostgreSQL
// 14 or later.
//
// # What it does not do
//
//   - A lock is not a fence. A holder that is frozen or cut off believes for a
//     while what is no longer so. Let what it writes to check a token: AdmitTx,
//     or a token column in your own row.
//   - Exclusion holds per running server and database. A failover starts with
//     no advisory locks, while the old primary may still hold its own for
//     clients that still reach it.
//   - A standby that replicates asynchronously, and a backup, may be behind:
//     after a failover or a restore the store can grant tokens that it has
//     granted before. Call LeaseStore.AdvanceToken for each role with a token
//     that is surely higher than any used, before the electors start.
//   - Leases live by the server's clock. One that is set forward ends them
//     early, while their holders still count on them.
//   - Waiting with Acquire is polling: without order among processes, and
//     invisible to the server's deadlock detector. Take several names in
//     sorted order. LockTx waits inside the server and is seen by it.
//   - ROLLBACK TO SAVEPOINT frees a transaction lock and undoes an AdmitTx that
//     came after the savepoint; what is written later is not guarded.
//   - Two names may share a lock key (see LockKey): false contention, never
//     two holders.
//
// # What runs where
//
// Each adapter takes a *pgxpool.Config for where to connect, and opens sessions
// of its own: they never come from your pool, whose exhaustion could otherwise
// cost a lock. A Locker uses one session for each name that is held or awaited,
// a LeaseStore at most two, a NodeRegistry one.
//
//	                    direct   PgBouncer, session   PgBouncer, transaction   standby
//	Locker               yes     with AllowProxy      ErrPooled                ErrReadOnly
//	TryLockTx, LockTx    yes     yes                  yes                      ErrReadOnly
//	LeaseStore           yes     yes                  yes                      Current only
//	NodeRegistry         yes     yes                  yes                      LiveNodes only
//	AdmitTx              yes     yes                  yes                      ErrReadOnly
//
// # How a lock is lost
//
// The holder of a session lock counts from before its last answered statement,
// asked:
//
//	asked + TTL/3       it pings the server
//	asked + TTL − m     without an answer it steps down: Lost closes
//	asked + TTL         not sooner, the server ends the silent session and frees the lock
//
// A session that is terminated, or whose server stops, is noticed in
// milliseconds, because a read is parked on it. The network's own time limits
// on the server's side are set to TTL at least, so that they do not free the
// lock while the holder still counts on it.
package postgres
