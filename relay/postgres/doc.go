// Package postgres has relay's locks, leases, registry and fence on PostgreSQL
// 14 or later. (On older ones the locks lack the dead man's switch: ErrNoDeadMan.)
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
//     granted before. See the runbook below.
//   - Leases live by the server's clock. One that is set forward ends them
//     early, while their holders still count on them.
//   - Waiting with Acquire is without order among processes, and invisible to
//     the server's deadlock detector. Take several names in sorted order.
//     LockTx waits inside the server and is seen by it.
//   - ROLLBACK TO SAVEPOINT frees a transaction lock and undoes an AdmitTx that
//     came after the savepoint; what is written later is not guarded.
//   - The end of a transaction lock, or of a session (a crash, a loss, Close),
//     wakes nobody: who waits with Acquire finds out at its next try, within
//     RetryInterval.
//   - A release that wakes another process sends a NOTIFY, and PostgreSQL lets
//     one transaction that notifies commit at a time. Where somebody's hangs at
//     commit the wake-up is given up, and the waiters find out at their next
//     try.
//   - Two names may share a lock key (see LockKey): false contention, never
//     two holders.
//   - Every lock, held or waited for, takes a place in the server's lock table,
//     which everybody shares. It is made for max_locks_per_transaction ×
//     max_connections, 6,400 with the default settings, and has some slack: with
//     PostgreSQL 15 it ends near 12,800. Then nobody can lock or even create a
//     table. MaxHeld bounds what one Locker takes.
//
// # What runs where
//
// Each adapter takes a *pgxpool.Config for where to connect, and opens sessions
// of its own: they never come from your pool, whose exhaustion could otherwise
// cost a lock. A Locker uses one session, however many names it holds, and closes
// it when none was held or awaited for TTL/3; Holders opens another for as long as
// it looks. A LeaseStore uses one, and a second while somebody waits for a
// release, a NodeRegistry one.
//
//	                    direct   PgBouncer, session   PgBouncer, transaction   standby
//	Locker               yes     with AllowProxy      ErrPooled                ErrReadOnly
//	TryLockTx, LockTx    yes     yes                  yes                      ErrReadOnly
//	LeaseStore           yes     without wake-ups     without wake-ups         Current, List
//	NodeRegistry         yes     yes                  yes                      LiveNodes
//	AdmitTx              yes     yes                  yes                      ErrReadOnly
//
// # What each way to hold a lock costs
//
//	                      connections   1000 locks, server memory   lost together      next holder after a release
//	one Locker            1             2 to 3 MB                   all of them        about two round trips
//	several Lockers       1 each        as many times               those of a Locker  the same
//	a session for each    1 each        1.1 GB                      one at a time      less than one, in the server's queue
//	LockTx                your own      your own                    your transaction   the same
//
// A session for each lock, which blocks in pg_advisory_lock, is a few lines of
// your own. It waits in the order in which sessions came, and holds a snapshot
// while it waits, for which CREATE INDEX CONCURRENTLY waits in turn. A Locker for
// each lock that must not share a fate has the dead man's switch besides.
//
// # How a lock is lost
//
// asked is the moment just before the Locker sent the last question that the
// server has answered; TTL and Margin are the LockerConfig's:
//
//	asked + TTL/3            it pings the server
//	asked + TTL − Margin     without an answer the holders step down: Lost closes
//	asked + TTL              not sooner, the server ends the silent session and frees the locks
//
// A session that is terminated, or whose server stops, is noticed in
// milliseconds, because a read is parked on it. The network's own time limits
// on the server's side are set to TTL at least, so that they do not free the
// lock while the holder still counts on it.
//
// A server that refuses a statement (pg_cancel_backend, a full lock table, a
// commit that waited too long) costs no lock: the Locker compares its table with
// what its session holds. One that does not answer a statement costs nothing
// before asked + TTL − Margin, and all locks then; a Release gives up waiting after
// RequestTimeout, with an error, and the question goes on.
//
// # The day after a restore or a failover
//
// The tokens that the database remembers may be older than those that your
// resources have seen: those fences then refuse every new leader until the store
// has caught up, and a resource that has not seen the newest yet may let two
// leaders with one token in. So, before the electors start:
//
//  1. Stop the electors, and see to it that no old primary takes connections.
//  2. List the roles: LeaseStore.List has every one that this database
//     remembers. Roles that were granted only after the backup are missing.
//  3. For each role find a token that is surely higher than any used: the
//     highest in your logs (an Event has the token) and in your fences outside
//     this database (a relay_fences that was restored with it proves nothing),
//     plus a margin for what was granted and not logged. A million does no harm,
//     but relay.MaxToken ends the role for good.
//  4. LeaseStore.AdvanceToken(ctx, role, token) for each of them. It can be
//     repeated and never lowers a token. The term of a leader that runs after
//     all ends with it, unless its token is higher already.
//  5. Start the electors. The first grant carries token + 1 or more.
//
// Locks need no such step, and have no such help: a lock is a lock on one
// running server. What must survive a failover takes a lease and a fence.
package postgres
