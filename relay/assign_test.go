package relay_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

// owners turns an assignment around: the node of each partition. It fails
// unless each partition has exactly one.
func owners(t testing.TB, partitions int, assigned map[string][]int) []string {
	t.Helper()
	owner := make([]string, partitions)
	owned := make([]bool, partitions)
	for node, list := range assigned {
		require.True(t, slices.IsSorted(list), "the partitions of %q are sorted", node)
		for _, partition := range list {
			require.False(t, owned[partition], "partition %d has two owners, %q and %q", partition, owner[partition], node)
			owner[partition], owned[partition] = node, true
		}
	}
	require.NotContains(t, owned, false, "each partition has an owner")
	return owner
}

// nodeFamilies are ways in which machines are named.
var nodeFamilies = map[string]func(i int) string{
	"counted":  func(i int) string { return fmt.Sprintf("node-%d", i) },
	"pods":     func(i int) string { return fmt.Sprintf("worker-7d4b9c6f5-%05x", i*0x9e37%0xfffff) },
	"hosts":    func(i int) string { return fmt.Sprintf("ip-10-0-%d-%d.eu-west-1.compute.internal", i/4, i*17%256) },
	"ports":    func(i int) string { return "127.0.0.1:" + strconv.Itoa(8080+i) },
	"letters":  func(i int) string { return string(rune('a' + i)) },
	"owner/id": func(i int) string { return fmt.Sprintf("relay-%d/%d", i, 1000+i*i) },
}

func nodesOf(family func(int) string, n int) []string {
	nodes := make([]string, n)
	for i := range nodes {
		nodes[i] = family(i)
	}
	return nodes
}

func TestAssign_DealsOutAsEverBefore(t *testing.T) {
	_, rows := readGolden(t, "assign_golden.tsv")
	for _, row := range rows {
		partitions, err := strconv.Atoi(row[0])
		require.NoError(t, err)
		nodes := strings.Split(row[1], ",")
		got := make([]string, partitions)
		for i, owner := range owners(t, partitions, relay.Assign(partitions, nodes)) {
			got[i] = strconv.Itoa(slices.Index(nodes, owner))
		}
		require.Equal(t, row[2], strings.Join(got, ","),
			"%d partitions of %s went to other nodes: two versions side by side would claim the same ones", partitions, row[1])
	}
}

func TestAssign_GivesEachPartitionOneOwnerAndEachNodeItsShare(t *testing.T) {
	for name, family := range nodeFamilies {
		for _, n := range []int{1, 2, 3, 7, 20} {
			nodes := nodesOf(family, n)
			for _, partitions := range []int{0, 1, 2, 7, 64, 100, 256} {
				assigned := relay.Assign(partitions, nodes)
				owners(t, partitions, assigned)
				require.ElementsMatch(t, nodes, slices.Collect(maps.Keys(assigned)), "%s: each node has an entry", name)

				larger := 0
				for node, list := range assigned {
					require.NotNil(t, list, "an idle node has an empty list, not none")
					require.Contains(t, []int{partitions / n, partitions/n + 1}, len(list),
						"%s: %d partitions over %d nodes: %q has its share or one more", name, partitions, n, node)
					if len(list) > partitions/n {
						larger++
					}
				}
				require.Equal(t, partitions%n, larger, "as many nodes have one more as there are partitions left over")
			}
		}
	}
}

func TestAssign_IsAFunctionOfTheSetOfNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 0))
	nodes := nodesOf(nodeFamilies["pods"], 7)
	want := relay.Assign(64, nodes)
	for range 20 {
		seen := slices.Concat(nodes, nodes[:random.IntN(len(nodes))]) // some of them twice
		random.Shuffle(len(seen), func(i, j int) { seen[i], seen[j] = seen[j], seen[i] })
		before := slices.Clone(seen)
		require.Equal(t, want, relay.Assign(64, seen), "order and repetition do not matter: %v", seen)
		require.Equal(t, before, seen, "the caller's slice is left alone")
	}
}

// Two names whose hashes for partition 0 are equal, found by search.
func TestAssign_TieGoesToTheLowerName(t *testing.T) {
	lower, higher := "node-7ba0e29eb9af6845", "node-aa82c79b7e7572cc"
	require.Equal(t, referenceHash("0-"+lower), referenceHash("0-"+higher), "it is a tie")
	for _, nodes := range [][]string{{lower, higher}, {higher, lower}} {
		require.Equal(t, map[string][]int{lower: {0}, higher: {}}, relay.Assign(1, nodes))
	}
}

func TestAssign_WithoutNodesOrPartitionsIsEmpty(t *testing.T) {
	for _, nodes := range [][]string{nil, {}} {
		assigned := relay.Assign(8, nodes)
		require.NotNil(t, assigned)
		require.Empty(t, assigned)
	}
	for _, partitions := range []int{0, -1, -64} {
		require.Equal(t, map[string][]int{"a": {}, "b": {}}, relay.Assign(partitions, []string{"b", "a"}))
	}
}

// A caller may append to one node's list without touching another's.
func TestAssign_ListsDoNotShareMemory(t *testing.T) {
	assigned := relay.Assign(10, []string{"a", "b", "c"})
	want := slices.Clone(assigned["b"])
	for _, node := range []string{"a", "c"} {
		_ = append(assigned[node], 99)
	}
	require.Equal(t, want, assigned["b"])
}

// movedShare returns what part of the partitions changes hands when one of the
// nodes comes or goes, over the ideal: the share that the node has. It is the
// mean over each node as the one that comes or goes.
func movedShare(t testing.TB, partitions int, nodes []string, assign func(int, []string) map[string][]int) float64 {
	t.Helper()
	with := owners(t, partitions, assign(partitions, nodes))
	moved := 0
	for i := range nodes {
		without := owners(t, partitions, assign(partitions, slices.Delete(slices.Clone(nodes), i, i+1)))
		for partition := range partitions {
			if with[partition] != without[partition] {
				moved++
			}
		}
	}
	ideal := float64(partitions) / float64(len(nodes))
	return float64(moved) / float64(len(nodes)) / ideal
}

// roundRobin is the obvious way, and the twin that fails.
func roundRobin(partitions int, nodes []string) map[string][]int {
	assigned := map[string][]int{}
	for partition := range partitions {
		node := nodes[partition%len(nodes)]
		assigned[node] = append(assigned[node], partition)
	}
	return assigned
}

func TestAssign_MovesFewPartitionsWhenANodeJoinsOrLeaves(t *testing.T) {
	for _, c := range []struct{ partitions, before int }{{64, 4}, {256, 10}} {
		var sum float64
		for name, family := range nodeFamilies {
			nodes := nodesOf(family, c.before+1)
			moved := movedShare(t, c.partitions, nodes, relay.Assign)
			t.Logf("%d partitions, %d or %d nodes, %s: %.2f of the ideal", c.partitions, c.before, c.before+1, name, moved)
			require.LessOrEqual(t, moved, 1.6,
				"%d partitions, %d or %d nodes (%s): moved over the ideal", c.partitions, c.before, c.before+1, name)
			sum += moved

			require.Greater(t, movedShare(t, c.partitions, nodes, roundRobin), 2.0, "the twin: dealing out in turn moves far more")
		}
		mean := sum / float64(len(nodeFamilies)) / float64(c.before+1)
		t.Logf("%d partitions, %d or %d nodes: %.3f of all partitions move", c.partitions, c.before, c.before+1, mean)
	}
}

// One hash for each pair of partition and node, and no more.
func TestAssign_CopesWithTenThousandPartitionsOnAThousandNodes(t *testing.T) {
	longArithmetic(t)
	assigned := relay.Assign(10_000, nodesOf(nodeFamilies["counted"], 1000))
	owners(t, 10_000, assigned)
	for node, list := range assigned {
		require.Len(t, list, 10, "node %q", node)
	}
}

func BenchmarkAssign(b *testing.B) {
	for _, c := range []struct{ partitions, nodes int }{{64, 4}, {256, 10}, {10_000, 1000}} {
		nodes := nodesOf(nodeFamilies["counted"], c.nodes)
		b.Run(fmt.Sprintf("%d over %d", c.partitions, c.nodes), func(b *testing.B) {
			for b.Loop() {
				relay.Assign(c.partitions, nodes)
			}
		})
	}
}
