package mermaid_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/relay-samples/relay-go/tools/docgen/internal/mermaid"
	"github.com/stretchr/testify/require"
)

// variant gives a source that no memo knows: the title differs.
func variant(source string, i int) string {
	return strings.Replace(source, "accTitle: ", fmt.Sprintf("accTitle: %d ", i), 1)
}

// body is a drawing without its title, which variant changes.
func body(d mermaid.Drawing) string {
	_, after, _ := strings.Cut(d.SVG, "</title>")
	return after
}

func TestDraw_TheSameSourceGivesTheSameBytesWhateverWasDrawnBefore(t *testing.T) {
	first := map[string]string{}
	for round := range 3 {
		for file, source := range sources(t) { // in another order each time
			d, errs := mermaid.Draw(variant(source, round), "d1")
			require.Empty(t, errs)
			if round == 0 {
				first[file] = body(d)
			}
			require.Equal(t, first[file], body(d), file)
		}
		big := flow(strings.Repeat("A & B --> C & D\n", round*5) + "A --> Z")
		_, errs := mermaid.Draw(big, "d1")
		require.Empty(t, errs)
	}
}

func TestDraw_AFaultyDiagramSpoilsNoOther(t *testing.T) {
	source := flow("A[x] -->|y| B\nB --> A")
	before, errs := mermaid.Draw(source, "d1")
	require.Empty(t, errs)
	for i, r := range refusedFlow {
		_, errs := mermaid.Draw(flow(r.statement), "d1")
		require.NotEmpty(t, errs)
		after, errs := mermaid.Draw(variant(source, i), "d1")
		require.Empty(t, errs)
		require.Equal(t, body(before), body(after), r.statement)
	}
}

func TestDraw_GoroutinesMayDrawAtTheSameTime(t *testing.T) {
	want := map[string]string{}
	for file, source := range sources(t) {
		d, errs := mermaid.Draw(source, "d1")
		require.Empty(t, errs)
		want[file] = body(d)
	}

	var wg sync.WaitGroup
	var mu sync.Mutex // guards differ
	var differ []string
	for i := range 8 {
		wg.Go(func() {
			for file, source := range sources(t) {
				d, errs := mermaid.Draw(variant(source, 100+i), "d1")
				if len(errs) > 0 || body(d) != want[file] {
					mu.Lock()
					differ = append(differ, file)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	require.Empty(t, differ)
}

func TestDraw_ARebuildLaysNothingOutAgain(t *testing.T) {
	all := sources(t)
	allocations := testing.AllocsPerRun(3, func() { // which runs it once before it counts
		for _, source := range all {
			mermaid.Draw(source, "d1")
		}
	})
	require.Less(t, allocations, float64(100*len(all)))
}

func TestDraw_ErrorsBelongToTheCaller(t *testing.T) {
	source := flow("A[")
	_, errs := mermaid.Draw(source, "d1")
	errs[0].Message = "changed"
	_, again := mermaid.Draw(source, "d1")
	require.NotEqual(t, "changed", again[0].Message)
}

func FuzzDraw(f *testing.F) {
	for _, source := range sources(f) {
		f.Add(source)
	}
	for _, r := range refusedFlow {
		f.Add(flow(r.statement))
	}
	for _, r := range refusedSequence {
		f.Add(seq(r.statement))
	}
	f.Fuzz(func(t *testing.T, source string) {
		d, errs := mermaid.Draw(source, "d1")
		if len(errs) > 0 {
			require.Empty(t, d.SVG)
			for _, e := range errs {
				require.Positive(t, e.Line)
				require.LessOrEqual(t, e.Line, 1+strings.Count(source, "\n"))
			}
			return
		}
		require.NotContains(t, d.SVG, "NaN")
		require.NotContains(t, d.SVG, "Inf")
		marks(t, d.SVG) // well-formed
	})
}

// site is what a site of 50 articles holds: 150 flowcharts of ten nodes, and 50
// sequence diagrams.
func site(seed int) []string {
	var out []string
	for i := range 150 {
		out = append(out, flow(fmt.Sprintf(`A%d[Client %d] -->|acquires %d| B[(Lease store)]
B -->|granted| C[Leader<br/>runs the work]
B -->|refused| D{Try again?}
D -->|yes| B
D -- no --> E[gives up]
subgraph workers [Workers]
  C --> F[One] & G[Two] & H[Three]
end
F & G & H --> I[(Data)]
I -.stale token.-> J[fenced out]`, i, i, seed)))
	}
	for i := range 50 {
		out = append(out, seq(strings.Repeat(fmt.Sprintf("A->>+B: acquire %d %d\nB-->>-A: granted\nNote over A,C: waits\nA->>C: write\n", i, seed), 5)))
	}
	return out
}

func BenchmarkDraw_Site(b *testing.B) {
	seed := 0
	for b.Loop() {
		seed++
		for _, source := range site(seed) {
			if _, errs := mermaid.Draw(source, "d1"); len(errs) > 0 {
				b.Fatal(errs)
			}
		}
	}
}

func BenchmarkDraw_SiteAgain(b *testing.B) {
	all := site(0)
	for _, source := range all {
		mermaid.Draw(source, "d1")
	}
	for b.Loop() {
		for _, source := range all {
			if _, errs := mermaid.Draw(source, "d1"); len(errs) > 0 {
				b.Fatal(errs)
			}
		}
	}
}
