// Package memory keeps locks, leases and node lists inside one process. It is
// made for tests, and for programs of which only one copy ever runs.
//
// # Limits first
//
// Nothing here reaches another process. Each process has locks, leases and
// nodes of its own, so two processes that elect a leader through this package
// elect two. The same goes for two stores in one process: only those who share
// a Locker, a LeaseStore or a NodeRegistry see each other.
//
// Nothing here outlives the process either. After a restart tokens begin at 1
// again. A resource that has remembered a higher token refuses them; tell the
// new store with AdvanceToken.
//
// # What it promises
//
// The same as every adapter: it passes the suites of package relaytest. Locks
// are handed over in the order in which the waiters came. They are never lost,
// so Lost never closes.
//
// The clock is a function. Give the store the Now of a clock that a test moves
// by hand, and expiry depends on nothing but what the store recorded and what
// that function says; or give it nil and run inside a testing/synctest bubble.
// Whoever waits here waits on a channel, so a bubble's time goes on. Time is
// compared by the wall clock, as a database would compare it: a clock that is
// set back makes leases last longer, and one that is set forward ends them.
package memory
