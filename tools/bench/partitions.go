package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

const (
	assignPartitions = 64
	assignNodes      = 4
)

// measurePartitions needs no server.
func measurePartitions(ctx context.Context, b *bench) error {
	// So many that the processor can't learn by heart which way each search goes.
	keys := names("customer/order", 1<<16)
	if err := b.partitionCost(ctx, keys); err != nil {
		return err
	}
	for _, n := range []int{64, 1024} {
		if err := b.ringCost(ctx, keys, n); err != nil {
			return err
		}
	}
	return b.partitionBalance()
}

// partitioned and hashed go through all keys.
func partitioned(name string, p relay.Partitioner, keys []string) subject {
	return perKey(name, len(keys), func() (sum int) {
		for _, k := range keys {
			sum += p.Partition(k)
		}
		return sum
	})
}

func hashed(keys []string) subject {
	return perKey("hash", len(keys), func() (sum int) {
		for _, k := range keys {
			sum += int(rawHash(k))
		}
		return sum
	})
}

// perKey repeats what does something for each of n keys, and counts the fastest
// time through them: whoever else wants the processor is not to be measured.
func perKey(name string, n int, all func() (sum int)) subject {
	return subject{name: name, run: func(_ context.Context, d time.Duration) (sample, error) {
		got, sum := sample{ops: n, took: math.MaxInt64}, 0
		for begun := time.Now(); time.Since(begun) < d; {
			from := time.Now()
			sum += all()
			got.took = min(got.took, time.Since(from))
		}
		if sum == 0 { // also keeps the compiler from dropping what is measured
			return got, errors.New("all the results are 0")
		}
		return got, nil
	}}
}

func (s series) nanos() float64 { return 1e9 / s.rate() }

func (b *bench) partitionCost(ctx context.Context, keys []string) error {
	p, err := relay.NewPartitioner(64, relay.PartitionerConfig{})
	if err != nil {
		return err
	}
	got, err := compare(ctx, b.options,
		partitioned("Partition", p, keys), hashed(keys))
	if err != nil {
		return err
	}
	b.add(line{goal: 7, what: "Partition", value: quantity{got[0].nanos(), " ns"}, base: "hash and finaliser",
		floor: quantity{got[1].nanos(), " ns"}, rounds: got[1].over(got[0]), bound: atMost(1.25)})
	b.add(line{goal: 7, what: "allocations of Partition", bound: valueAtMost(0, ""),
		value: count(testing.AllocsPerRun(100, func() { p.Partition(keys[0]) }))})
	return nil
}

// ringCost compares the ring's way from a hash to a partition with a binary
// search. The ring hashes as well, so what the hash takes is subtracted.
func (b *bench) ringCost(ctx context.Context, keys []string, partitions int) error {
	p, err := relay.NewPartitioner(partitions, relay.PartitionerConfig{UseConsistentHashing: true})
	if err != nil {
		return err
	}
	points, owners := ringPoints(partitions)
	search := func(hash uint64) int {
		i := sort.Search(len(points), func(i int) bool { return points[i] >= hash })
		return owners[i%len(owners)]
	}
	hashes := make([]uint64, len(keys))
	for i, k := range keys {
		hashes[i] = rawHash(k)
		if got, want := p.Partition(k), search(hashes[i]); got != want {
			return fmt.Errorf("the ring has %q in partition %d, and a binary search in %d", k, got, want)
		}
	}
	got, err := compare(ctx, b.options,
		partitioned("ring", p, keys), hashed(keys),
		perKey("binary search", len(keys), func() (sum int) {
			for _, h := range hashes {
				sum += search(h)
			}
			return sum
		}))
	if err != nil {
		return err
	}
	var ratios []float64
	for i := range got[0] {
		ratios = append(ratios, (1/got[0][i].rate()-1/got[1][i].rate())*got[2][i].rate())
	}
	b.add(line{goal: 7, what: fmt.Sprintf("ring look-up without the hash, %d partitions", partitions),
		value: quantity{got[0].nanos() - got[1].nanos(), " ns"}, base: "binary search",
		floor: quantity{got[2].nanos(), " ns"}, rounds: ratios, bound: atMost(0.25)})
	return nil
}

// rawHash is the documented hash, spelled out with the standard library's FNV-1a.
func rawHash(key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

// ringPoints are the documented points of a ring, in order.
func ringPoints(partitions int) (points []uint64, owners []int) {
	type point struct {
		hash  uint64
		owner int
	}
	var ring []point
	for p := range partitions {
		for r := range relay.DefaultReplicas {
			ring = append(ring, point{rawHash(strconv.Itoa(p) + "-" + strconv.Itoa(r)), p})
		}
	}
	sort.Slice(ring, func(i, j int) bool { return ring[i].hash < ring[j].hash })
	for _, p := range ring {
		points, owners = append(points, p.hash), append(owners, p.owner)
	}
	return points, owners
}

// partitionBalance is no matter of time: the same everywhere.
func (b *bench) partitionBalance() error {
	const partitions, keyCount = 64, 1 << 18
	keys := names("user", keyCount)
	for _, cfg := range []relay.PartitionerConfig{{}, {UseConsistentHashing: true}} {
		before, err := relay.NewPartitioner(partitions, cfg)
		if err != nil {
			return err
		}
		after, err := relay.NewPartitioner(partitions+1, cfg)
		if err != nil {
			return err
		}
		counts, moved := make([]int, partitions), 0
		for _, k := range keys {
			counts[before.Partition(k)]++
			if before.Partition(k) != after.Partition(k) {
				moved++
			}
		}
		name := "hash"
		if cfg.UseConsistentHashing {
			name = "ring"
			got, ideal := float64(moved)/keyCount, 1.0/(partitions+1)
			b.add(line{goal: 7, what: "keys moved from 64 to 65 partitions, ring", value: quantity{100 * got, " %"},
				base: "ideal", floor: quantity{100 * ideal, " %"}, rounds: []float64{got / ideal}, bound: within(0.85, 1.15)})
		}
		mean := float64(keyCount) / partitions
		b.add(line{goal: 7, what: "fullest of 64 partitions, " + name, value: count(float64(slices.Max(counts))),
			base: "mean", floor: count(mean), rounds: []float64{float64(slices.Max(counts)) / mean}, bound: atMost(1.25)})
	}
	return b.assignMoves()
}

// assignMoves is the mean over several sets of nodes that one more joins.
func (b *bench) assignMoves() error {
	var moves []float64
	for set := range 20 {
		nodes := names(fmt.Sprintf("node-%d", set), assignNodes+1)
		before, after := relay.Assign(assignPartitions, nodes[:assignNodes]), relay.Assign(assignPartitions, nodes)
		moved := 0
		for node, partitions := range after {
			for _, p := range partitions {
				if !slices.Contains(before[node], p) {
					moved++
				}
			}
		}
		moves = append(moves, float64(moved)/assignPartitions)
	}
	mean := 0.0
	for _, m := range moves {
		mean += m / float64(len(moves))
	}
	ideal := 1.0 / (assignNodes + 1)
	if math.IsNaN(mean) || mean < ideal*0.99 {
		return fmt.Errorf("relay.Assign moved %v, less than balance allows", mean)
	}
	b.add(line{goal: 7, what: "partitions moved when a fifth node joins", value: quantity{100 * mean, " %"},
		base: "ideal", floor: quantity{100 * ideal, " %"}, rounds: []float64{mean / ideal}, bound: atMost(1.6)})
	return nil
}
