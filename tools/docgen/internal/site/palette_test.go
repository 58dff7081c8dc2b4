package site_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// grounds are what each colour of the palette may lie on, and how far it must
// stand out: 4.5 for text, 3 for a line that carries a meaning.
var grounds = map[string]struct {
	least float64
	on    []string
}{
	"ink":  {4.5, []string{"paper", "sunken", "mark", "chosen", "shape"}},
	"soft": {4.5, []string{"paper", "sunken", "chosen"}},
	"link": {4.5, []string{"paper", "sunken"}},
	"good": {4.5, []string{"paper", "sunken"}},
	"bad":  {4.5, []string{"paper", "sunken", "mark"}},
	"wary": {4.5, []string{"paper", "sunken"}},
	"deep": {4.5, []string{"paper", "sunken"}},

	"code-keyword":  {4.5, []string{"sunken", "mark"}},
	"code-string":   {4.5, []string{"sunken", "mark"}},
	"code-number":   {4.5, []string{"sunken", "mark"}},
	"code-comment":  {4.5, []string{"sunken", "mark"}},
	"code-function": {4.5, []string{"sunken", "mark"}},
	"code-builtin":  {4.5, []string{"sunken", "mark"}},

	"edge":       {3, []string{"paper", "sunken", "mark"}},
	"token":      {3, []string{"paper", "sunken", "mark"}},
	"shape-edge": {3, []string{"paper", "sunken", "shape"}},
}

// bare are the colours that are grounds themselves, or only divide.
var bare = []string{"paper", "sunken", "mark", "chosen", "shape", "rule"}

func TestPalette_EveryColourStandsOutFromAllThatItLiesOn(t *testing.T) {
	palette := readPalette(t)
	for name, colour := range palette {
		if slices.Contains(bare, name) {
			continue
		}
		rule, ok := grounds[name]
		require.True(t, ok, "--%s is new: say in this test what it lies on", name)
		for _, on := range rule.on {
			ground, ok := palette[on]
			require.True(t, ok, "--%s is not in the palette", on)
			for i, theme := range []string{"light", "dark"} {
				ratio := contrast(colour[i], ground[i])
				require.GreaterOrEqual(t, ratio, rule.least, "--%s on --%s in the %s theme", name, on, theme)
			}
		}
	}
	for name := range grounds {
		require.Contains(t, palette, name, "the test knows a colour that is gone")
	}
}

func TestPalette_NoColourStandsOutsideOfIt(t *testing.T) {
	css, err := os.ReadFile("assets/site.css")
	require.NoError(t, err)
	rest := property.ReplaceAll(css, nil)
	found := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\brgba?\([^)]*\)`).FindAllString(string(rest), -1)
	require.Equal(t, []string{"rgb(0 0 0 / 0.45)", "#fff"}, found, "the shade behind the search, and paper in print")
}

var property = regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`)

// readPalette are the colours of the style sheet, light and dark.
func readPalette(t *testing.T) map[string][2]string {
	t.Helper()
	css, err := os.ReadFile("assets/site.css")
	require.NoError(t, err)
	palette := map[string][2]string{}
	for _, m := range property.FindAllStringSubmatch(string(css), -1) {
		require.NotContains(t, palette, m[1], "defined twice")
		palette[m[1]] = [2]string{m[2], m[3]}
	}
	return palette
}

// contrast is WCAG's ratio of two colours.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(colour string) float64 {
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			panic(fmt.Sprintf("%s is no colour", colour))
		}
		c := float64(v) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
