package coordination_test

import (
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

func newPartitioner(t *testing.T, count int, cfg relay.PartitionerConfig) relay.Partitioner {
	t.Helper()
	partitioner, err := relay.NewPartitioner(count, cfg)
	require.NoError(t, err)
	return partitioner
}

func orders(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("order-%d", i)
	}
	return keys
}

// The number is written down here: it must be the same on every machine and
// after every upgrade.
func TestPartitioner_SameKeySamePartition(t *testing.T) {
	partitioner := newPartitioner(t, 8, relay.PartitionerConfig{})

	require.Equal(t, 6, partitioner.Partition("order-42"), "order-42 belongs to partition 6 of 8, today and for ever")
	for _, key := range append(orders(1000), "", "注文-42", "\xff") {
		partition := partitioner.Partition(key)
		require.True(t, 0 <= partition && partition < 8, "partition %d of %q is one of the eight", partition, key)
		require.Equal(t, partition, partitioner.Partition(key), "%q stays where it is", key)
	}
}

// Keys spread, so that no worker gets most of the work.
func TestPartitioner_SpreadsKeys(t *testing.T) {
	partitioner := newPartitioner(t, 8, relay.PartitionerConfig{})

	load := make([]int, 8)
	for _, key := range orders(8000) {
		load[partitioner.Partition(key)]++
	}
	require.GreaterOrEqual(t, slices.Min(load), 900, "each partition has about a thousand of 8000 keys: %v", load)
	require.LessOrEqual(t, slices.Max(load), 1100, "each partition has about a thousand of 8000 keys: %v", load)
}

// Why not plain FNV-1a, as many do? Its lowest bit is the parity of the
// lowest bits of the key's bytes. A key that says something twice always has
// the same parity, and of an even number of partitions reaches only every second.
func TestPartitioner_FillsThePartitionsThatRawFNVLeavesEmpty(t *testing.T) {
	raw := func(key string) int {
		h := fnv.New64a()
		h.Write([]byte(key))
		return int(h.Sum64() % 8)
	}
	partitioner := newPartitioner(t, 8, relay.PartitionerConfig{})

	usedByRaw, used := map[int]bool{}, map[int]bool{}
	for i := range 1000 {
		key := fmt.Sprintf("user-%d/user-%d", i, i)
		usedByRaw[raw(key)] = true
		used[partitioner.Partition(key)] = true
	}
	require.Len(t, usedByRaw, 4, "raw FNV-1a leaves half of the partitions without a single key")
	require.Len(t, used, 8, "the partitioner mixes the hash once more and fills all of them")
}

// When the count changes a modulo deals nearly all keys anew; on the ring those
// move that the new partition takes over, and no others.
func TestPartitioner_RingMovesFewKeysWhenAPartitionIsAdded(t *testing.T) {
	keys := orders(9000)
	moved := func(cfg relay.PartitionerConfig) (moved, elsewhere int) {
		before, after := newPartitioner(t, 8, cfg), newPartitioner(t, 9, cfg)
		for _, key := range keys {
			if to := after.Partition(key); to != before.Partition(key) {
				moved++
				if to != 8 {
					elsewhere++
				}
			}
		}
		return moved, elsewhere
	}

	byModulo, _ := moved(relay.PartitionerConfig{})
	onRing, elsewhere := moved(relay.PartitionerConfig{UseConsistentHashing: true})
	require.Greater(t, byModulo, 7500, "with a modulo about eight keys of nine move")
	require.InEpsilon(t, 1000, onRing, 0.15, "on the ring about one key of nine moves")
	require.Zero(t, elsewhere, "no key moves between partitions that were there before")
}

// The hash must not be seeded per process, as that of Go's maps is.
// This test runs itself in two more processes and compares what they say.
func TestPartitioner_AgreesAcrossProcesses(t *testing.T) {
	const child = "RELAY_SAMPLE_PRINT_PARTITIONS"
	if os.Getenv(child) != "" {
		partitioner, seed := newPartitioner(t, 8, relay.PartitionerConfig{}), maphash.MakeSeed()
		var stable, seeded []int
		for _, key := range orders(100) {
			stable = append(stable, partitioner.Partition(key))
			seeded = append(seeded, int(maphash.String(seed, key)%8))
		}
		fmt.Printf("partitioner %v\nmaphash %v\n", stable, seeded)
		return
	}

	inNewProcess := func() (stable, seeded string) {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		_, stable, _ = strings.Cut(string(out), "partitioner ")
		stable, seeded, _ = strings.Cut(stable, "\nmaphash ")
		seeded, _, _ = strings.Cut(seeded, "\n")
		return stable, seeded
	}
	stable, seeded := inNewProcess()
	stableElsewhere, seededElsewhere := inNewProcess()

	require.NotEmpty(t, stable)
	require.Equal(t, stable, stableElsewhere, "two processes send each key to the same partition")
	require.NotEmpty(t, seeded)
	require.NotEqual(t, seeded, seededElsewhere, "a seeded hash scatters the keys: each process has its own idea of each key")
}

// Partitions are dealt out. Each has one owner, and the nodes agree on it
// without talking to each other.
func TestAssign_GivesEachPartitionOneOwner(t *testing.T) {
	three := relay.Assign(12, []string{"node-a", "node-b", "node-c"})
	require.Equal(t, three, relay.Assign(12, []string{"node-c", "node-a", "node-b"}), "whoever calls it gets the same answer")

	owners := make([]int, 12)
	for node, partitions := range three {
		require.Len(t, partitions, 4, "%s has its fair share", node)
		for _, partition := range partitions {
			owners[partition]++
		}
	}
	require.Equal(t, slices.Repeat([]int{1}, 12), owners, "each partition has exactly one owner")
}

// And few change hands when a node joins. Dealing them out in turn is fair too,
// but moves three quarters of them.
func TestAssign_MovesFewPartitionsWhenANodeJoins(t *testing.T) {
	const partitions = 64
	four := []string{"node-a", "node-b", "node-c", "node-d"}
	five := append(slices.Clone(four), "node-e")
	before, after := relay.Assign(partitions, four), relay.Assign(partitions, five)

	moved, movedInTurn := 0, 0
	for partition := range partitions {
		for node := range before {
			if slices.Contains(before[node], partition) && !slices.Contains(after[node], partition) {
				moved++
			}
		}
		if partition%len(four) != partition%len(five) {
			movedInTurn++
		}
	}
	require.LessOrEqual(t, moved, 20, "about a quarter of 64 partitions move; a fifth is what the new node must get")
	require.Equal(t, 48, movedInTurn, "dealt out in turn, three quarters of them move")
}

// What it is all for: one owner for a partition means one worker for a
// key, so its events stay in order, however fast or slow the workers are.
func TestPartitioner_KeepsTheEventsOfAKeyInOrder(t *testing.T) {
	partitioner := newPartitioner(t, 8, relay.PartitionerConfig{})
	workers := []string{"node-a", "node-b", "node-c"}
	owner := map[int]string{}
	for node, partitions := range relay.Assign(8, workers) {
		for _, partition := range partitions {
			owner[partition] = node
		}
	}

	toOwner := func(e event, _ int) string { return owner[partitioner.Partition(e.key)] }
	for _, speed := range [][]string{{"node-a", "node-b", "node-c"}, {"node-c", "node-b", "node-a"}, {"node-b", "node-c", "node-a"}} {
		require.Empty(t, overtaken(process(toOwner, speed)), "each key's events are in order when %v is the order of speed", speed)
	}
}

// The twin: the same events, dealt to the same workers in turn. The second
// event of a key goes to another worker than the first, and if that one is
// faster the second is processed first.
func TestPartitioner_WithoutItTheEventsOfAKeyOvertakeEachOther(t *testing.T) {
	workers := []string{"node-a", "node-b", "node-c"}
	inTurn := func(_ event, i int) string { return workers[i%len(workers)] }

	require.NotEmpty(t, overtaken(process(inTurn, []string{"node-c", "node-b", "node-a"})),
		"with node-a slow, events of one key are processed out of order")
}

// event is the number-th thing that happened to a key.
type event struct {
	key    string
	number int
}

// process sends three events of each of four keys to the queues of workers, and
// empties the queues from the fastest worker's to the slowest's. It returns the
// events in the order in which they were processed.
func process(dispatch func(e event, i int) string, bySpeed []string) []event {
	queues := map[string][]event{}
	i := 0
	for number := range 3 {
		for _, key := range orders(4) {
			e := event{key, number}
			worker := dispatch(e, i)
			queues[worker] = append(queues[worker], e)
			i++
		}
	}
	var processed []event
	for _, worker := range bySpeed {
		processed = append(processed, queues[worker]...)
	}
	return processed
}

// overtaken returns the events that were processed after a later one of their
// key.
func overtaken(processed []event) []event {
	var late []event
	latest := map[string]int{}
	for _, e := range processed {
		if e.number < latest[e.key] {
			late = append(late, e)
		}
		latest[e.key] = max(latest[e.key], e.number)
	}
	return late
}
