package postgres

import "hash/fnv"

// lockSpace is "LOCK" in ASCII, the high half of every lock key. Another half
// ("WAIT", for who waits) makes a space of keys that never collides with it.
const lockSpace int64 = 0x4C4F434B << 32

// LockKey is the advisory lock key of a name: the ASCII bytes "LOCK", then the
// FNV-1a 32 hash of the name's UTF-8 bytes. Session locks and transaction locks
// of a name share it, so they exclude each other. It never changes: versions of
// a program run side by side.
//
// Two names share a key with a chance of 1 in 2^32. They then exclude each
// other although they need not, which costs waiting and never lets two holders
// of one name in. Among 1,000 names the chance that any two do so is 1 in
// 8,600; among 10,000 it is 1 in 86.
//
// A key means something only inside one database: PostgreSQL keeps the advisory
// locks of different databases apart, and those taken by two int4 apart from
// those taken by one int8, as here.
func LockKey(name string) int64 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // never fails, and does not allocate
	return lockSpace | int64(hash.Sum32())
}
