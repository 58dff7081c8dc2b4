package relay_test

import (
	"hash/fnv"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

// referenceHash is what every key, ring point and node is placed by, written
// with the standard library's FNV-1a.
func referenceHash(key string) uint64 { return finalise(rawFNV(key)) }

func rawFNV(key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return h.Sum64()
}

// finalise is fmix64, of MurmurHash3.
func finalise(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func TestHash_ReferenceAgreesWithPublishedVectors(t *testing.T) {
	// From the FNV authors' test suite; the last two are a known collision.
	for key, want := range map[string]uint64{
		"":                     0xcbf29ce484222325,
		"a":                    0xaf63dc4c8601ec8c,
		"foobar":               0x85944171f73967e8,
		"8yn0iYCKYHlIj4-BwPqk": 0x4eac0c95540867e4,
		"GReLUrM4wMqfg9yzV3KQ": 0x4eac0c95540867e4,
	} {
		require.Equal(t, want, rawFNV(key), "FNV-1a 64 of %q", key)
	}

	// fmix64 has no vectors of its own, but MurmurHash3_x64_128 of no bytes
	// consists of nothing else: from the seed s it gives fmix64(2s) +
	// fmix64(3s), and fmix64(3s) once more added to that. Its published value
	// for the seed 1 is 4610abe56eff5cb551622daa78f83583.
	high := finalise(2) + finalise(3)
	low := high + finalise(3)
	require.Equal(t, [2]uint64{0x4610abe56eff5cb5, 0x51622daa78f83583}, [2]uint64{high, low}, "fmix64")
	require.Zero(t, finalise(0))
}

// The partition modulo the largest count there is all but shows the hash
// itself.
func TestHash_IsFNV1aWithMurmursFinaliser(t *testing.T) {
	partitioner := newPartitioner(t, math.MaxInt, relay.PartitionerConfig{})
	for _, key := range append(everydayKeys(1000), "", "\x00", "\xff\xfe", "8yn0iYCKYHlIj4-BwPqk") {
		require.EqualValues(t, referenceHash(key)%math.MaxInt, partitioner.Partition(key), "hash of %q", key)
	}
}

// What the finaliser is there for: one flipped bit of the key changes each bit
// of the hash about every other time. Raw FNV-1a fails this badly.
func TestHash_OneBitOfTheKeyChangesHalfOfTheHash(t *testing.T) {
	require.InDelta(t, 0.5, leastFlipped(referenceHash), 0.1, "the finaliser spreads each bit over the whole hash")
	require.Zero(t, leastFlipped(rawFNV), "raw FNV-1a has bits that the last byte of a key never reaches")
}

// leastFlipped returns how often the most sluggish bit of the hash changes when
// one of the low four bits of a key's last byte does.
func leastFlipped(hash func(string) uint64) float64 {
	const rounds = 1000
	least := 1.0
	for bit := range 4 {
		var flips [64]int
		for i := range rounds {
			key := []byte(everydayKey(i))
			before := hash(string(key))
			key[len(key)-1] ^= 1 << bit
			for changed := before ^ hash(string(key)); changed != 0; changed &= changed - 1 {
				flips[bits.TrailingZeros64(changed)]++
			}
		}
		for _, n := range flips {
			least = min(least, float64(n)/rounds)
		}
	}
	return least
}
