package relay_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

// referenceRing is the ring as the doc comment tells it: sorted points and a
// binary search.
type referenceRing struct {
	hashes []uint64
	owners []int
}

func newReferenceRing(count, replicas int, hash func(string) uint64) referenceRing {
	type point struct {
		hash  uint64
		owner int
	}
	var points []point
	for partition := range count {
		for replica := range replicas {
			points = append(points, point{hash(strconv.Itoa(partition) + "-" + strconv.Itoa(replica)), partition})
		}
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.hash, b.hash) })

	var ring referenceRing
	for _, point := range points {
		ring.hashes = append(ring.hashes, point.hash)
		ring.owners = append(ring.owners, point.owner)
	}
	return ring
}

func (r referenceRing) owner(hash uint64) int {
	i := sort.Search(len(r.hashes), func(i int) bool { return r.hashes[i] >= hash })
	return r.owners[i%len(r.owners)]
}

// shares returns how much of the circle each partition has, as a fraction.
func (r referenceRing) shares(count int) []float64 {
	shares := make([]float64, count)
	before := r.hashes[len(r.hashes)-1]
	for i, point := range r.hashes {
		shares[r.owners[i]] += float64(point-before) / math.Exp2(64) // wraps around at the first
		before = point
	}
	return shares
}

func TestRing_GuideTableFindsWhatABinarySearchFinds(t *testing.T) {
	longArithmetic(t)
	keys := everydayKeys(5_000)
	for _, c := range []struct{ count, replicas int }{
		{1, 1}, {2, 1}, {3, 1}, {1, 150}, {5, 2}, {8, 150}, {64, 150}, {255, 1}, {1000, 10}, {1024, 150},
	} {
		ring := newPartitioner(t, c.count, relay.PartitionerConfig{UseConsistentHashing: true, Replicas: c.replicas})
		reference := newReferenceRing(c.count, c.replicas, referenceHash)
		last, wrapped := reference.hashes[len(reference.hashes)-1], 0
		for _, key := range keys {
			hash := referenceHash(key)
			if hash > last {
				wrapped++
			}
			require.Equal(t, reference.owner(hash), ring.Partition(key), "%d×%d, key %q", c.count, c.replicas, key)
		}
		if c.count*c.replicas < 1000 {
			require.Positive(t, wrapped, "%d×%d: keys past the last point were among them", c.count, c.replicas)
		}
	}
}

// A key that is spelled like a point has the point's hash.
func TestRing_PointBelongsToItsOwnPartition(t *testing.T) {
	for _, count := range []int{1, 2, 7, 64} {
		ring := newPartitioner(t, count, onRing)
		for partition := range count {
			for replica := range relay.DefaultReplicas {
				point := fmt.Sprintf("%d-%d", partition, replica)
				require.Equal(t, partition, ring.Partition(point), "a key at a point belongs to it, not to the next: %q", point)
			}
		}
	}
}

func TestRing_DependsOnCountAndReplicasOnly(t *testing.T) {
	written := relay.PartitionerConfig{UseConsistentHashing: true, Replicas: relay.DefaultReplicas}
	one, other := newPartitioner(t, 64, onRing), newPartitioner(t, 64, written)
	for _, key := range everydayKeys(1000) {
		require.Equal(t, one.Partition(key), other.Partition(key), "two rings of one configuration, key %q", key)
	}
}

// Balance is counted in arc share, which no choice of keys can flatter.
func TestRing_SpreadsTheCircleEvenly(t *testing.T) {
	for _, c := range []struct {
		count, replicas int
		most            float64
	}{
		{8, 150, 1.15}, {64, 150, 1.25}, {1024, 150, 1.30}, {8, 500, 1.10}, {64, 500, 1.15},
	} {
		shares := newReferenceRing(c.count, c.replicas, referenceHash).shares(c.count)
		t.Logf("%d partitions with %d points: %.3f", c.count, c.replicas, slices.Max(shares)*float64(c.count))
		require.LessOrEqual(t, slices.Max(shares)*float64(c.count), c.most,
			"%d partitions with %d points: the largest share over the average", c.count, c.replicas)
	}
}

// The twin: a ring over raw FNV-1a, the fault of several well-known libraries.
// The hashes of "0-1" and "0-2" lie close together, so the points clump.
func TestRing_RawFNVWouldSkewIt(t *testing.T) {
	shares := newReferenceRing(64, relay.DefaultReplicas, rawFNV).shares(64)
	require.Greater(t, slices.Max(shares)*64, 2.0, "with raw FNV-1a one of 64 partitions gets twice its share")
}

func TestRing_OneMorePartitionMovesFewKeysAndOnlyToItself(t *testing.T) {
	const keys = 50_000
	for _, count := range []int{8, 64, 256} {
		before, after := newPartitioner(t, count, onRing), newPartitioner(t, count+1, onRing)
		moved := 0
		for i := range keys {
			from, to := before.Partition(everydayKey(i)), after.Partition(everydayKey(i))
			if from != to {
				moved++
				require.Equal(t, count, to, "key %q moved between partitions that both stay: from %d", everydayKey(i), from)
			}
		}
		ideal := float64(keys) / float64(count+1)
		require.InEpsilon(t, ideal, moved, 0.15, "from %d to %d partitions about one key in %d moves", count, count+1, count+1)
	}
}

// Over many sizes the moved share is that of the partition that came; a single
// one may have some more or less than its share.
func TestRing_MovesTheIdealShareOnAverage(t *testing.T) {
	var sum float64
	rounds := 0
	for count := 8; count <= 72; count += 4 {
		shares := newReferenceRing(count+1, relay.DefaultReplicas, referenceHash).shares(count + 1)
		sum += shares[count] * float64(count+1) // the newcomer's share is what moves
		rounds++
	}
	require.InEpsilon(t, 1.0, sum/float64(rounds), 0.05, "moved keys over the ideal, averaged over %d sizes", rounds)
}

func BenchmarkNewRing(b *testing.B) {
	for _, count := range []int{64, 1024} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newPartitioner(b, count, onRing)
			}
		})
	}
}
