package mermaid_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relay-samples/relay-go/tools/docgen/internal/mermaid"
	"github.com/stretchr/testify/require"
)

// Diagrams of the articles' kind, and two that use every construct. With
// RELAY_UPDATE_GOLDEN=1 the drawings are written anew: look at them then.
func sources(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.mmd")
	require.NoError(t, err)
	require.NotEmpty(t, files)

	out := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		out[f] = string(text)
	}
	return out
}

func TestDraw_GoldenDrawingsDoNotChange(t *testing.T) {
	for file, source := range sources(t) {
		d, errs := mermaid.Draw(source, "golden")
		require.Empty(t, errs, file)

		golden := strings.TrimSuffix(file, ".mmd") + ".svg"
		if os.Getenv("RELAY_UPDATE_GOLDEN") == "1" {
			require.NoError(t, os.WriteFile(golden, []byte(d.SVG+"\n"), 0o644))
			continue
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), d.SVG+"\n", "%s differs; if it should, set RELAY_UPDATE_GOLDEN=1 and look at it", golden)
	}
}

func TestDraw_EverythingLiesInsideTheViewBox(t *testing.T) {
	for file, source := range sources(t) {
		_, all := draw(t, source)
		whole := viewBox(t, all)
		for _, m := range all {
			if len(m.points) > 0 {
				require.True(t, whole.holds(m.box()), "%s: %s %v is at %v, outside of %v", file, m.tag, m.classes, m.box(), whole)
			}
		}
	}
}

func TestDraw_NodesAndLabelsDoNotOverlap(t *testing.T) {
	for file, source := range sources(t) {
		_, all := draw(t, source)
		solid := append(with(all, "dg-node"), with(all, "dg-edge-label")...)
		solid = append(solid, with(all, "dg-note")...)
		for i, a := range solid {
			for _, b := range solid[i+1:] {
				require.False(t, a.box().overlaps(b.box()), "%s: %v %v overlaps %v %v", file, a.attrs, a.text, b.attrs, b.text)
			}
		}
	}
}

func TestDraw_NothingNeedsInlineStyle(t *testing.T) {
	for file, source := range sources(t) {
		d, all := draw(t, source)
		require.NotContains(t, d.SVG, "<style", file)
		for _, m := range all {
			require.NotContains(t, m.attrs, "style", file)
			require.NotContains(t, m.attrs, "onclick", file)
		}
	}
}

func TestDraw_IdsOfTheSameDiagramTwiceOnAPageDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []string{"d1", "d2"} {
		for _, source := range sources(t) {
			prefix := fmt.Sprintf("%s-%d", id, len(seen))
			d, errs := mermaid.Draw(source, prefix)
			require.Empty(t, errs)
			for _, m := range marks(t, d.SVG) {
				if name := m.attrs["id"]; name != "" {
					require.True(t, strings.HasPrefix(name, prefix), name)
					require.False(t, seen[name], "%s occurs twice", name)
					seen[name] = true
				}
			}
		}
	}
	require.Len(t, seen, 2*2*len(sources(t)))
}

func TestDraw_TheTextAlternativeIsTheNameOfTheImage(t *testing.T) {
	d, all := draw(t, "flowchart TD\naccTitle: A #lt; B & more\naccDescr {\n  two\n  lines\n}\nA-->B")
	require.Equal(t, "A < B & more", d.Title)
	require.Equal(t, "two lines", d.Description)
	require.Contains(t, d.SVG, `<title id="d1-title">A &lt; B &amp; more</title><desc id="d1-desc">two lines</desc>`)
	require.Equal(t, "img", all[0].attrs["role"])
	require.Equal(t, "d1-title d1-desc", all[0].attrs["aria-labelledby"])
}
