package postgres

import "hash/fnv"

// The high half of a key: a space of its own for the locks and for those who
// wait, so that the two never collide. They never change, and neither does the
// channel: versions of a program run side by side.
const (
	lockSpace int64 = 0x4C4F434B << 32 // "LOCK" in ASCII
	waitSpace int64 = 0x57414954 << 32 // "WAIT"

	// notifyChannel is where a release tells those who wait what is free: the
	// lock's key in decimal, or leaseWaitName of a role.
	notifyChannel = "relay"
)

// leaseWaitName is under which name waiters for a lease register, and what its
// release notifies.
func leaseWaitName(role string) string { return "lease:" + role }

// waitKey is the advisory lock key that whoever waits for a name holds, shared,
// so that the release knows whether there is anybody to tell.
func waitKey(name string) int64 { return waitSpace | hashName(name) }

// LockKey is the advisory lock key of a name: the ASCII bytes "LOCK", then the
// FNV-1a 32 hash of the name's UTF-8 bytes. Session locks and transaction locks
// of a name share it, so they exclude each other. It never changes: versions of
// a program run side by side.
//
// Two names share a key with a chance of 1 in 2^32. They then exclude each
// other although they need not, which costs waiting and never lets two holders
// of one name in; who holds the one waits for the other until its context ends.
// Among 1,000 names the chance that any two do so is 1 in
// 8,600; among 10,000 it is 1 in 86.
//
// A key means something only inside one database: PostgreSQL keeps the advisory
// locks of different databases apart, and those taken by two int4 apart from
// those taken by one int8, as here.
func LockKey(name string) int64 { return lockSpace | hashName(name) }

func hashName(name string) int64 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // never fails, and does not allocate
	return int64(hash.Sum32())
}
