package relay

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// DefaultReplicas is the number of ring points of a partition. With it the
// largest of 64 partitions has about 1.2 times the average share of the keys.
const DefaultReplicas = 150

// maxRingPoints is the largest ring: partitions times replicas. It takes 320
// MB, and seconds to build.
const maxRingPoints = 1 << 24

// RingPartitioner places the partitions on a ring by consistent hashing (Karger
// et al., "Consistent Hashing and Random Trees", 1997). It depends on the
// number of partitions and of replicas, and on nothing else. NewPartitioner
// makes it; the zero value has one partition.
//
// The ring is the circle of all 64-bit hashes. A partition has several points
// on it, the hashes of "<partition>-<replica>". A key belongs to the first
// point at or after its own hash, and past the last one to the first of all:
//
//	0                     key                              2^64
//	|-----*----------*-----o--->*--------------*-------------|
//	     2-0        0-1        1-0            0-0
//
// One partition more adds its points and changes no other, so a key moves to
// the new partition or stays: of N+1 partitions about one key in N+1 moves,
// where a modulo moves nearly all. (Equal points would belong to the lowest
// partition, so that a new one does not take over a point either. In rings of
// the permitted size there are none: all the points were compared.)
type RingPartitioner struct {
	count int

	// The points in ascending order, and the partition of each. One more at
	// the end, at the highest hash there is, stands for the first of all: a
	// search never runs off the end.
	points []uint64
	owners []int32

	// guide[h>>shift] is where the search for the hash h begins: the index of
	// the first point with those high bits or higher ones. With at least as
	// many entries as points a search takes one or two steps, where a binary
	// search takes ten to twenty, each of which the processor mispredicts half
	// of the time.
	guide []int32
	shift uint
}

var _ Partitioner = (*RingPartitioner)(nil)

func newRingPartitioner(count, replicas int) *RingPartitioner {
	p := &RingPartitioner{count: count}
	p.place(replicas)
	p.index()
	return p
}

// place fills points and owners.
func (p *RingPartitioner) place(replicas int) {
	type point struct {
		hash  uint64
		owner int32
	}
	ring := make([]point, 0, p.count*replicas)
	for partition := range p.count {
		prefix := fnv1a(fnvOffset64, strconv.Itoa(partition)+"-")
		for replica := range replicas {
			hash := fmix64(fnv1a(prefix, strconv.Itoa(replica)))
			ring = append(ring, point{hash, int32(partition)})
		}
	}
	slices.SortFunc(ring, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.owner, b.owner))
	})

	p.points = make([]uint64, len(ring)+1)
	p.owners = make([]int32, len(ring)+1)
	for i, point := range ring {
		p.points[i], p.owners[i] = point.hash, point.owner
	}
	p.points[len(ring)], p.owners[len(ring)] = math.MaxUint64, ring[0].owner
}

// index fills guide and shift from the points.
func (p *RingPartitioner) index() {
	width := bits.Len(uint(len(p.points))) // 2^width > len(points)
	p.guide = make([]int32, 1<<width)
	p.shift = uint(64 - width)
	next := 0
	for i := range p.guide {
		for p.points[next] < uint64(i)<<p.shift {
			next++
		}
		p.guide[i] = int32(next)
	}
}

// Partition returns the partition of the first point at or after the key's
// hash.
func (p *RingPartitioner) Partition(key string) int {
	if p.count == 0 {
		return 0
	}
	hash := hash64(key)
	i := p.guide[hash>>p.shift]
	for p.points[i] < hash {
		i++
	}
	return int(p.owners[i])
}

// Count returns the number of partitions.
func (p *RingPartitioner) Count() int { return max(p.count, 1) }
