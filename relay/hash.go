package relay

// The constants of FNV-1a with 64 bits (Fowler, Noll and Vo; the IETF draft
// draft-eastlake-fnv).
const (
	fnvOffset64 uint64 = 14695981039346656037
	fnvPrime64  uint64 = 1099511628211
)

// hash64 places keys, ring points and nodes: FNV-1a 64 over the bytes of s,
// then fmix64. It is the same in every process and for ever; golden files in
// testdata hold it to that.
//
// FNV-1a alone would not do. Its prime is odd, so the lowest bit of the hash is
// no more than the parity of the lowest bits of all the bytes: modulo an even
// number, keys such as "7/7" reach every second partition only. Its high bits,
// by which a ring sorts, hardly feel the last bytes.
//
// A hash with a seed per process (hash/maphash, the one of Go's maps) is
// faster, and useless here: each process would place the same key elsewhere.
func hash64(s string) uint64 { return fmix64(fnv1a(fnvOffset64, s)) }

// fnv1a carries the FNV-1a state h over the bytes of s. It is hash/fnv's loop,
// spelled out because it takes a string as it is, and can go on from a prefix.
func fnv1a(h uint64, s string) uint64 {
	for i := range len(s) {
		h ^= uint64(s[i])
		h *= fnvPrime64
	}
	return h
}

// fmix64 is the finaliser of MurmurHash3 (Austin Appleby, public domain). A
// flip of any bit of h flips each bit of the result with a chance of about one
// half. It is a bijection, so it adds no collision.
func fmix64(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return h
}
