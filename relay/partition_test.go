package relay_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

// onRing asks for consistent hashing with the default number of points.
var onRing = relay.PartitionerConfig{UseConsistentHashing: true}

func newPartitioner(t testing.TB, count int, cfg relay.PartitionerConfig) relay.Partitioner {
	t.Helper()
	partitioner, err := relay.NewPartitioner(count, cfg)
	require.NoError(t, err)
	return partitioner
}

func everydayKey(i int) string { return "order-" + strconv.Itoa(i) }

func everydayKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = everydayKey(i)
	}
	return keys
}

var evenDigits = strings.NewReplacer("1", "2", "2", "4", "3", "6", "4", "8")

// keyFamilies are ways in which people name things. Each makes keys that differ
// in few places.
var keyFamilies = map[string]func(i int) string{
	"counter":        everydayKey,
	"decimal":        strconv.Itoa,
	"twice the same": func(i int) string { return fmt.Sprintf("user-%d/user-%d", i, i) },
	"even digits": func(i int) string {
		return evenDigits.Replace(strconv.FormatInt(int64(i), 5))
	},
	"padded":        func(i int) string { return fmt.Sprintf("%012d", i) },
	"date and line": func(i int) string { return fmt.Sprintf("2026-%02d-%02d/line/%d", i%12+1, i%28+1, i) },
	"UUID":          func(i int) string { return fmt.Sprintf("550e8400-e29b-41d4-a716-%012x", i) },
	"long prefix":   func(i int) string { return strings.Repeat("tenant/", 20) + strconv.Itoa(i) },
}

// skew returns the largest number of keys of a partition, over the average.
func skew(count int, keys []string, partition func(key string) int) float64 {
	loads := make([]int, count)
	for _, key := range keys {
		loads[partition(key)]++
	}
	return float64(slices.Max(loads)) * float64(count) / float64(len(keys))
}

func TestNewPartitioner_TakesTheKindThatTheConfigNames(t *testing.T) {
	require.IsType(t, &relay.HashPartitioner{}, newPartitioner(t, 8, relay.PartitionerConfig{}))
	require.IsType(t, &relay.RingPartitioner{}, newPartitioner(t, 8, onRing))
	for _, cfg := range []relay.PartitionerConfig{{}, onRing} {
		require.Equal(t, 8, newPartitioner(t, 8, cfg).Count())
	}
}

func TestNewPartitioner_RefusesWhatMakesNoSense(t *testing.T) {
	for name, c := range map[string]struct {
		count int
		cfg   relay.PartitionerConfig
		says  string
	}{
		"no partition":                  {0, relay.PartitionerConfig{}, "count 0 is less than 1"},
		"fewer than none":               {-8, relay.PartitionerConfig{}, "count -8 is less than 1"},
		"no partition on a ring":        {0, onRing, "count 0 is less than 1"},
		"negative replicas":             {8, relay.PartitionerConfig{UseConsistentHashing: true, Replicas: -1}, "Replicas -1 is negative"},
		"negative replicas, no ring":    {8, relay.PartitionerConfig{Replicas: -1}, "Replicas -1 is negative"},
		"replicas without a ring":       {8, relay.PartitionerConfig{Replicas: 150}, "without UseConsistentHashing"},
		"too many points":               {1 << 17, onRing, "131072 partitions times 150 replicas exceed 16777216"},
		"one point too many":            {1<<24 + 1, relay.PartitionerConfig{UseConsistentHashing: true, Replicas: 1}, "exceed 16777216"},
		"more points than an int has":   {math.MaxInt, relay.PartitionerConfig{UseConsistentHashing: true, Replicas: math.MaxInt}, "exceed"},
		"more replicas than all points": {1, relay.PartitionerConfig{UseConsistentHashing: true, Replicas: math.MaxInt}, "exceed"},
	} {
		t.Run(name, func(t *testing.T) {
			partitioner, err := relay.NewPartitioner(c.count, c.cfg)
			require.ErrorContains(t, err, "relay: NewPartitioner: ")
			require.ErrorContains(t, err, c.says)
			require.True(t, partitioner == nil, "an error comes without a partitioner, not with a typed nil")
		})
	}
}

func TestPartitioner_ZeroValueHasOnePartition(t *testing.T) {
	for _, partitioner := range []relay.Partitioner{&relay.HashPartitioner{}, &relay.RingPartitioner{}} {
		require.Equal(t, 1, partitioner.Count())
		require.Zero(t, partitioner.Partition("order-42"))
	}
}

func TestPartitioner_MapsKeysAsEverBefore(t *testing.T) {
	header, rows := readGolden(t, "partition_golden.tsv")
	require.Equal(t, []string{"key", "hash"}, header[:2])
	for column, kind := range header[2:] {
		var count int
		var cfg relay.PartitionerConfig
		if _, err := fmt.Sscanf(kind, "mod %d", &count); err != nil {
			cfg.UseConsistentHashing = true
			_, err = fmt.Sscanf(kind, "ring %dx%d", &count, &cfg.Replicas)
			require.NoError(t, err)
		}
		partitioner := newPartitioner(t, count, cfg)
		for _, row := range rows {
			key, err := strconv.Unquote(row[0])
			require.NoError(t, err)
			require.Equal(t, row[1], fmt.Sprintf("%016x", referenceHash(key)), "hash of %q", key)
			require.Equal(t, row[2+column], strconv.Itoa(partitioner.Partition(key)),
				"%s: key %q left its partition: its events would be processed out of order during an upgrade", kind, key)
		}
	}
}

// readGolden reads a table: comments, a header, rows, with tabs between fields.
// Nothing writes these files, so that no careless run can move a key.
func readGolden(t *testing.T, name string) (header []string, rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		rows = append(rows, strings.Split(strings.TrimRight(line, "\r\n"), "\t"))
	}
	require.Greater(t, len(rows), 10, "the golden file has its rows")
	for _, row := range rows {
		require.Len(t, row, len(rows[0]), "%q", row)
	}
	return rows[0], rows[1:]
}

// FuzzPartition holds both kinds to their promise for any key and any count: in
// range, the same again, and where the reference puts it.
func FuzzPartition(f *testing.F) {
	for _, key := range []string{"", "order-42", "\x00", "a\x00b", "\xff\xfe", "注文-42", strings.Repeat("x", 1000), "0-0", "6-3"} {
		for _, count := range []uint32{1, 2, 7, 8, 1000, math.MaxUint32} {
			f.Add(key, count)
		}
	}
	f.Fuzz(func(t *testing.T, key string, n uint32) {
		hash := referenceHash(key)

		count := int(n>>2) + 1
		modulo := newPartitioner(t, count, relay.PartitionerConfig{})
		require.Equal(t, int(hash%uint64(count)), modulo.Partition(key), "hash modulo count, unsigned")
		require.Equal(t, modulo.Partition(key), modulo.Partition(key), "the same key, the same partition")

		count, replicas := int(n%50)+1, int(n/50%20)+1
		ring := newPartitioner(t, count, relay.PartitionerConfig{UseConsistentHashing: true, Replicas: replicas})
		require.Equal(t, newReferenceRing(count, replicas, referenceHash).owner(hash), ring.Partition(key),
			"%d partitions with %d points: the first point at or after the key", count, replicas)
	})
}

func TestPartitioner_StaysInRangeWhereSignedArithmeticDoesNot(t *testing.T) {
	partitioner := newPartitioner(t, 7, relay.PartitionerConfig{})
	negative := 0
	for _, key := range everydayKeys(1000) {
		require.Contains(t, []int{0, 1, 2, 3, 4, 5, 6}, partitioner.Partition(key), "key %q", key)
		if int64(referenceHash(key))%7 < 0 {
			negative++
		}
	}
	require.Greater(t, negative, 300, "int(hash) %% n is negative for many keys: the case that this test guards against")
}

// The multiplication that replaces the division must be exact for every count,
// powers of two and their neighbours above all.
func TestHashPartitioner_IsExactForEveryKindOfCount(t *testing.T) {
	counts := []int{1, 3, 10, 1000, 1_000_003, math.MaxInt - 1, math.MaxInt}
	for shift := 1; shift < strconv.IntSize-1; shift++ {
		counts = append(counts, 1<<shift-1, 1<<shift, 1<<shift+1)
	}
	for _, count := range counts {
		partitioner := newPartitioner(t, count, relay.PartitionerConfig{})
		for _, key := range everydayKeys(500) {
			require.Equal(t, int(referenceHash(key)%uint64(count)), partitioner.Partition(key), "%q modulo %d", key, count)
		}
	}
}

func TestPartitioner_SpreadsEveryFamilyOfKeys(t *testing.T) {
	longArithmetic(t)
	for family, key := range keyFamilies {
		keys := make([]string, 100_000)
		for i := range keys {
			keys[i] = key(i)
		}
		for _, count := range []int{2, 10, 64} {
			modulo := newPartitioner(t, count, relay.PartitionerConfig{})
			require.LessOrEqual(t, skew(count, keys, modulo.Partition), 1.08,
				"%s, modulo %d: the fullest partition has at most 8%% more than the average", family, count)
		}
		ring := newPartitioner(t, 64, onRing)
		require.LessOrEqual(t, skew(64, keys, ring.Partition), 1.25,
			"%s, ring of 64: the fullest partition has at most a quarter more than the average", family)
	}
}

// The twin of the test above: the same keys by raw FNV-1a. Its lowest bit is
// the parity of the lowest bits of the key's bytes, which is the same for every
// key that says something twice, and for every number of even digits.
func TestPartitioner_RawFNVWouldLeaveHalfOfThePartitionsEmpty(t *testing.T) {
	for _, family := range []string{"twice the same", "even digits"} {
		for _, count := range []int{2, 8, 64} {
			raw := func(key string) int { return int(rawFNV(key) % uint64(count)) }
			used := map[int]bool{}
			for i := range 10_000 {
				used[raw(keyFamilies[family](i))] = true
			}
			require.Len(t, used, count/2, "%s, raw FNV-1a modulo %d", family, count)
		}
	}
}

func TestHashPartitioner_MovesNearlyAllKeysWhenTheCountChanges(t *testing.T) {
	before, after := newPartitioner(t, 64, relay.PartitionerConfig{}), newPartitioner(t, 65, relay.PartitionerConfig{})
	moved := 0
	for _, key := range everydayKeys(10_000) {
		if before.Partition(key) != after.Partition(key) {
			moved++
		}
	}
	require.Greater(t, moved, 9_700, "with a modulo a key stays with a chance of 1 in 65; the ring is for those who resize")
}

func TestPartitioner_DoesNotAllocate(t *testing.T) {
	keys := []string{"", "order-42", strings.Repeat("x", 1000)}
	for _, cfg := range []relay.PartitionerConfig{{}, onRing} {
		partitioner := newPartitioner(t, 64, cfg)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for _, key := range keys {
				partitioner.Partition(key)
			}
		}), "%T", partitioner)
	}
}

// BenchmarkPartition shows the look-ups beside what they can't be faster than:
// the hash alone, written out in a loop.
func BenchmarkPartition(b *testing.B) {
	keys := everydayKeys(1024)
	var sum int
	b.Run("floor/hash alone", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			sum += int(inlineHash(keys[i%len(keys)]))
		}
	})
	for _, count := range []int{64, 1000} {
		partitioner := newPartitioner(b, count, relay.PartitionerConfig{})
		b.Run(fmt.Sprintf("modulo/%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				sum += partitioner.Partition(keys[i%len(keys)])
			}
		})
	}
	for _, count := range []int{8, 64, 1024} {
		partitioner := newPartitioner(b, count, onRing)
		b.Run(fmt.Sprintf("ring/%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				sum += partitioner.Partition(keys[i%len(keys)])
			}
		})
		plain := newReferenceRing(count, relay.DefaultReplicas, referenceHash)
		b.Run(fmt.Sprintf("ring by binary search/%d", count), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				sum += plain.owner(inlineHash(keys[i%len(keys)]))
			}
		})
	}
	_ = sum
}

// inlineHash is referenceHash without the hash object, which allocates.
func inlineHash(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return finalise(h)
}
