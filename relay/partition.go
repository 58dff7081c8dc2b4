package relay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Partitioner maps each key to one of a fixed number of partitions. The mapping
// depends on nothing but the key and the configuration: every process, today
// and after any upgrade, maps a key alike. That is what keeps the events of a
// key in order when each partition has one owner.
//
// Keys are bytes. They need not be valid UTF-8, and the empty key is a key.
type Partitioner interface {
	// Partition returns the key's partition: 0 to Count()-1.
	Partition(key string) int

	// Count returns the number of partitions, at least 1.
	Count() int
}

// PartitionerConfig tunes NewPartitioner. The zero value works: it takes the
// hash modulo the count.
type PartitionerConfig struct {
	// UseConsistentHashing puts the partitions on a ring. A change of the count
	// then moves few keys; the price is that the fullest of 64 partitions gets
	// about a fifth more than its share. See RingPartitioner.
	UseConsistentHashing bool

	// Replicas is the number of points that each partition has on the ring. 0
	// is DefaultReplicas. More of them spread the keys more evenly and cost 20
	// bytes each. It moves keys to change it, and it is refused without
	// UseConsistentHashing.
	Replicas int
}

// NewPartitioner returns a partitioner of count partitions: a *RingPartitioner
// if cfg asks for consistent hashing, otherwise a *HashPartitioner.
//
// Choose the count for the largest number of workers that you will ever want,
// and leave it. Partitions are cheap, and Assign deals them out to any number
// of nodes without moving a key.
func NewPartitioner(count int, cfg PartitionerConfig) (Partitioner, error) {
	replicas := cmp.Or(cfg.Replicas, DefaultReplicas)
	switch {
	case count < 1:
		return nil, fmt.Errorf("relay: NewPartitioner: count %d is less than 1", count)
	case cfg.Replicas < 0:
		return nil, fmt.Errorf("relay: NewPartitioner: Replicas %d is negative", cfg.Replicas)
	case cfg.Replicas > 0 && !cfg.UseConsistentHashing:
		return nil, errors.New("relay: NewPartitioner: Replicas is set without UseConsistentHashing, and only a ring has points")
	case !cfg.UseConsistentHashing:
		return newHashPartitioner(count), nil
	case count > maxRingPoints/replicas:
		return nil, fmt.Errorf("relay: NewPartitioner: %d partitions times %d replicas exceed %d, the most points of a ring",
			count, replicas, maxRingPoints)
	}
	return newRingPartitioner(count, replicas), nil
}

// HashPartitioner takes the key's hash (64 bits, unsigned) modulo the number of
// partitions. It spreads keys as evenly as chance does, and a change of the
// count moves nearly all of them. NewPartitioner makes it; the zero value has
// one partition.
type HashPartitioner struct {
	count   uint64
	inverse uint64 // (2^64 - 1) / count, rounded down
}

var _ Partitioner = (*HashPartitioner)(nil)

func newHashPartitioner(count int) *HashPartitioner {
	return &HashPartitioner{count: uint64(count), inverse: math.MaxUint64 / uint64(count)}
}

// Partition returns hash(key) mod Count().
//
// A division is slow next to the hash of a short key, so it multiplies by the
// inverse instead (Barrett's reduction): the quotient comes out right or one
// too small, and then the remainder is one count too large.
func (p *HashPartitioner) Partition(key string) int {
	if p.count == 0 {
		return 0
	}
	hash := hash64(key)
	quotient, _ := bits.Mul64(hash, p.inverse)
	remainder := hash - quotient*p.count
	if remainder >= p.count {
		remainder -= p.count
	}
	return int(remainder)
}

// Count returns the number of partitions.
func (p *HashPartitioner) Count() int { return int(max(p.count, 1)) }

// Assign deals out partitions 0 to partitions-1 to nodes: each partition to
// exactly one node, each node as many as any other, or one more. A node's
// partitions are sorted, and each node has an entry, if only an empty one.
// Without nodes the map is empty.
//
// It is a function of the set of nodes alone: order and repetition of the names
// do not matter, nor does who calls it. Nodes that see the same set agree
// without a word. While they see different sets, two of them may claim one
// partition; exclusive ownership takes a lease per partition.
//
// Each partition ranks the nodes by the hash of "<partition>-<node>", highest
// first (rendezvous hashing: Thaler and Ravishankar, "A Name-Based Mapping
// Scheme for Rendezvous", 1996). In the order of their numbers the partitions
// go to the first node of their ranking that has room. So few of them change
// hands when a node joins or leaves: on average 1.2 times that node's share
// with 64 partitions and 4 nodes, 1.4 times with 256 and 10. Dealing them out
// in turn (partition modulo nodes) would move nearly all.
func Assign(partitions int, nodes []string) map[string][]int {
	nodes = slices.Compact(slices.Sorted(slices.Values(nodes)))
	owned := make(map[string][]int, len(nodes))
	if len(nodes) == 0 {
		return owned
	}

	// The first `larger` nodes that reach `share` may take one more.
	share, larger := partitions/len(nodes), partitions%len(nodes)
	taken := make([][]int, len(nodes))
	hasRoom := func(node int) bool {
		return len(taken[node]) < share || len(taken[node]) == share && larger > 0
	}
	for partition := range partitions {
		node := firstChoice(partition, nodes, hasRoom)
		if len(taken[node]) == share {
			larger--
		}
		taken[node] = append(taken[node], partition)
	}

	for i, node := range nodes {
		owned[node] = append([]int{}, taken[i]...)
	}
	return owned
}

// firstChoice returns the index of the node with room that the partition ranks
// highest; of equal hashes the first, which of sorted names is the lower one.
func firstChoice(partition int, nodes []string, hasRoom func(node int) bool) int {
	prefix := fnv1a(fnvOffset64, strconv.Itoa(partition)+"-")
	choice, highest := -1, uint64(0)
	for i, node := range nodes {
		if !hasRoom(i) {
			continue
		}
		if rank := fmix64(fnv1a(prefix, node)); choice < 0 || rank > highest {
			choice, highest = i, rank
		}
	}
	return choice
}
