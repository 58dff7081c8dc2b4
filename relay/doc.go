// Package relay coordinates the copies of a service: distributed locks, leader
// election, fenced leader election over renewable leases, heartbeat membership
// and partitioning.
//
// The package holds the contracts and what needs no store; it imports the
// standard library alone. Package memory keeps locks, leases and nodes in one
// process, package postgres in PostgreSQL. Package relaytest is the suite that
// an adapter has to pass.
//
// # What it does not protect
//
// A lock or a lease says who may act. It does not stop anybody from acting. A
// process can be paused, by its garbage collector, its host or a debugger,
// after it has checked that it leads and before it writes, for longer than any
// time limit. When it wakes up it writes, and the data changes unless the data
// itself refuses:
//
//   - Beliefs are not exclusive. For a while two instances may each believe
//     that they lead. Nothing that runs in those two instances can prevent it.
//   - Fencing makes the late write harmless, and only where the resource checks
//     the token in the same step that writes (Fence, postgres.AdmitTx). For a
//     resource that can't check one, such as a mail provider, make the work
//     idempotent instead.
//   - An expired leader's write is not refused before the new leader's first
//     write: until then the resource has heard of no higher token.
//   - Locks are advisory: they bind those who take them.
//   - Two instances that are given two stores elect two leaders. So do two
//     processes that each use package memory.
//
// # Promises
//
// T is the TTL, m the margin, P the retry interval; t_s is the local time just
// before a request was handed to the store. A term is one stretch of leadership,
// with one context.
//
//	I1   Exclusion     At most one session holds a name's lock, per running server and database.
//	I2   Tokens        Each grant carries the role's previous token plus one, in commit order, across
//	                   owners, processes and crashes of the store; the first is 1. A grant whose reply
//	                   was lost goes unused, so terms may skip tokens. Only AdvanceToken makes the
//	                   store skip.
//	I3   Renewal       The live holder's renewal keeps the token. A lapsed lease is never renewed:
//	                   whoever takes it next, the same owner included, gets a higher token. A renewal
//	                   answered with another token ends the term.
//	I4   Fence         The tokens of the writes that a fenced resource accepts never fall. Equal
//	                   tokens pass, lower ones don't.
//	I5   Self-fencing  A term is over for ever once T − m has passed since the t_s of its last answered
//	                   renewal. A later reply does not revive it.
//	I6   Liveness      See the table of failures.
//	I7   No leak       After a cancel, an error, a panic or a loss no goroutine, connection or lock is
//	                   left.
//	I8   Bystanders    A release or renewal by somebody who does not hold changes nothing and is
//	                   reported.
//	I9   Wind-down     On the way out: cancel the work, go on renewing, wait for the work, then release
//	                   what carries the term's nonce. A lease is never released under its work.
//	I10  Doubt         An outcome that is not known is "not leader". A retry has the same nonce, which
//	                   makes it a renewal.
//	I11  Owners        A role's owner is the configured name, "/" and a nonce that each term draws
//	                   anew. The price: a process that restarts waits out its own old lease.
//	I12  Membership    A node is live until its last heartbeat is older than the TTL, by the store's
//	                   clock.
//
// # The life of a term
//
//	                denied: wait for P, or for a hint that it was released
//	                  +----------+
//	                  v          |
//	Run ---------> candidate ----+          error, or no answer: wait for P
//	                  |      ^---+
//	                  | granted with token n, t_s
//	                  v
//	         +---- leading ----+----------------------+
//	         |        |        |                      |
//	   lead returns   |   ctx ends              T − m since t_s,
//	         |        |        |                a renewal refused or answered
//	         |        |   cancel, renew,        with another token, StallAfter
//	         |        |   wait for lead               |
//	         |        |        |                cancel with ErrLost,
//	         |     renewed:    |                wait for lead
//	         |     t_s moves   |                      |
//	         v                 v                      v
//	      release           release           release what is left
//	         |                 |                      |
//	   Run returns       Run returns            candidate again
//	   lead's error      cause of ctx
//	   (ErrResign and ErrStaleToken: rest for P, then candidate again; after a
//	   loss, rest until P has passed since the grant)
//
// # How long a term is trusted
//
//	trustedUntil = t_s + T − m
//	elapsed      = max(monotonic, wall clock)
//
// The lease lives until its ExpiresAt on the store's clock. The holder can't
// read that clock, so it counts from a moment that is certainly earlier: before
// it handed the request over. A slow reply then shortens the trust and never lengthens
// it. The monotonic clock can stand still while a machine sleeps and the wall
// clock can be set, so the one that says more counts.
//
// It is assumed that the store's clock is not stepped forward, and that the
// rates of the two clocks differ by less than m/T. With the defaults of 3 s in
// 30 s that is a tenth.
//
// Term.Valid computes this when asked, and is right also just after a freeze. A
// timer cancels the term's context, late by the length of any freeze.
//
// # Failures
//
//	What happens                      Old leader                      Next leader
//	graceful stop                     releases once lead returned     P, or at once where the store
//	                                                                  tells of the release
//	crash (kill -9)                   gone                            T + P; of a lock, P
//	freeze, host asleep               Valid is false on waking;       T + P
//	                                  its writes are fenced
//	cut off from the store            ends itself T − m after the     T + P
//	                                  last answered renewal
//	two renewals lost in a row        goes on (default intervals)     none
//	stuck work, StallAfter set        its lease lapses under it       StallAfter + T + P after the
//	                                                                  last progress
//	stuck work that ignores ctx       keeps the lease                 none: that is what StallAfter is for
//	frozen in its transaction with    holds up the writes of the      T + P; see postgres.AdmitTx
//	the fence (AdmitTx)               next leader until it is cut     for how to bound the wait
//	a lock's session is killed        told in milliseconds            P
//	store down                        ends itself T − m after the     recovery + P
//	                                  last answered renewal
//	the resource has seen a higher    lead returns ErrStaleToken:     already there
//	token                             it steps down
//
// Each bound is up to T longer while a request whose answer was lost can still
// reach the store.
//
// # Order of locks
//
// Candidates and waiters do not queue inside the database: they try again, and
// are woken where the store can. So its deadlock detector does not see them wait.
// Whoever takes several locks takes them in sorted order of their names.
//
// # Names and limits
//
// Names and roles are valid UTF-8 without NUL, 1 to 255 bytes, compared byte by
// byte (ValidateName). A LockElector adds a prefix to the role and a LeaseElector
// a nonce to the owner, so both refuse a role over 248 bytes, and an owner may
// have 228. A lease's TTL
// is 1 ms to ten years (ValidateTTL). What is refused is refused before any
// call. A misuse is an error and never a panic; a panic of your own callback
// passes through after the clean-up.
//
// # Sources
//
// The paused client and the fencing token: Martin Kleppmann, "How to do
// distributed locking" (2016). Leases: Gray and Cheriton, "Leases: an efficient
// fault-tolerant mechanism for distributed file cache consistency" (1989).
// Consistent hashing: Karger et al. (1997). Rendezvous hashing: Thaler and
// Ravishankar (1996).
package relay
