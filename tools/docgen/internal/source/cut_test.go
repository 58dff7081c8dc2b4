package source_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

const shapes = `//go:build linux && !amd64

package shapes

// Area is a number.
type Area int

type (
	// Point has two coordinates.
	Point struct {
		// X goes right.
		X int // to the right
		Y, Z int
		*Area
	}
	Other string
)

// Shape is anything.
type Shape[T any] interface {
	// Size tells.
	Size(of T) Area // in pixels
	fmt.Stringer
}

// Set is generic.
type Set[K comparable, V any] struct{ m map[K]V }

// Add adds.
//
//docgen:begin add
func (s *Set[K, V]) Add(k K, v V) {
	s.m[k] = v // adds
}

//docgen:end add

func (Set[_, _]) Len() int { return 0 }

// One is alone.
const One = 1

// Some belong together.
const (
	// Two is the first.
	Two = iota + 2
	Three
)

var A, B = 1, "}"

func Map[K any](k K) K { return k }

func asm()
`

func TestCut_EveryKindOfDeclarationCanBeNamed(t *testing.T) {
	cut := oneFile(t, "shapes.go", shapes)
	group := "// Some belong together.\nconst (\n\t// Two is the first.\n\tTwo = iota + 2\n\tThree\n)\n"
	point := "Point struct {\n\t// X goes right.\n\tX int // to the right\n\tY, Z int\n\t*Area\n}\n"
	for selector, want := range map[string]string{
		"Area":       "type Area int\n",
		"Point":      point,
		"Point.X":    "X int // to the right\n",
		"Point.Z":    "Y, Z int\n",
		"Point.Area": "*Area\n",
		"Other":      "Other string\n",
		"Shape":      "type Shape[T any] interface {\n\t// Size tells.\n\tSize(of T) Area // in pixels\n\tfmt.Stringer\n}\n",
		"Shape.Size": "Size(of T) Area // in pixels\n",
		"Set":        "type Set[K comparable, V any] struct{ m map[K]V }\n",
		"Set.Add":    "func (s *Set[K, V]) Add(k K, v V) {\n\ts.m[k] = v // adds\n}\n",
		"Set.Len":    "func (Set[_, _]) Len() int { return 0 }\n",
		"One":        "const One = 1\n",
		"Two":        group,
		"Three":      group,
		"B":          "var A, B = 1, \"}\"\n",
		"Map":        "func Map[K any](k K) K { return k }\n",
		"asm":        "func asm()\n",
		"region:add": "func (s *Set[K, V]) Add(k K, v V) {\n\ts.m[k] = v // adds\n}\n",
	} {
		snippet, err := cut(selector, "embed")
		require.Equal(t, want, code(t, snippet, err), selector)
		require.Equal(t, selector, snippet.Name)
		require.Equal(t, "go", snippet.Lang)
		require.Empty(t, snippet.Test, "none of them is a test")
	}
}

func TestCut_TheWholeFileComesWithoutMarkers(t *testing.T) {
	snippet, err := oneFile(t, "shapes.go", shapes)("", "embed")
	want := strings.Replace(shapes, "//\n//docgen:begin add\n", "", 1)
	want = strings.Replace(want, "\n//docgen:end add\n", "", 1)
	require.Equal(t, want, code(t, snippet, err))
	require.Equal(t, 1, snippet.StartLine)
	require.Equal(t, strings.Count(shapes, "\n"), snippet.EndLine)

	snippet, err = oneFile(t, "shapes.go", shapes)("Set.Add", "embed doc")
	require.Equal(t, "// Add adds.\nfunc (s *Set[K, V]) Add(k K, v V) {\n\ts.m[k] = v // adds\n}\n", code(t, snippet, err))
}

func TestCut_TypoInASelectorIsAFinding(t *testing.T) {
	tree := newTree(t, map[string]string{
		"a/x_test.go": "package a\n\nfunc TestFood() {}\nfunc Tiny() {}\nfunc Large() {}\n",
		"a/y_test.go": "package a\n\nfunc TestMoved() {}\n",
		"a/z.sql":     "SELECT 1;\n",
		"a/empty.go":  "package a\n",
	})
	for link, want := range map[string]string{
		"a/x_test.go#TestFoo":   "no TestFoo in a/x_test.go; did you mean TestFood?",
		"a/x_test.go#testfood":  "no testfood in a/x_test.go; did you mean TestFood?",
		"a/x_test.go#Other":     "no Other in a/x_test.go: there is Large, TestFood and Tiny",
		"a/x_test.go#TestMoved": "no TestMoved in a/x_test.go: it is in a/y_test.go",
		"a/x_test.go#L10-L20":   "a/x_test.go#L10-L20 names lines, which move with the next edit: name a function, or a region",
		"a/x_test.go#region:x":  "no region x in a/x_test.go: there is nothing in it that can be named",
		"a/z.sql#main":          "a/z.sql is not Go: only #region:name can be cut out of it, or the whole file with no fragment",
		"a/empty.go#X":          "no X in a/empty.go: there is nothing in it that can be named",
	} {
		name, selector, _ := strings.Cut(link, "#")
		_, err := tree.Cut(name, selector, source.Modifiers{})
		require.EqualError(t, err, want)
	}
}

func TestCut_AFileThatDoesNotParseIsAnErrorWithThePosition(t *testing.T) {
	cut := oneFile(t, "x.go", "package x\n\nfunc F() {\n\tif {\n}\n")
	for _, selector := range []string{"F", "", "region:x"} {
		_, err := cut(selector, "embed")
		require.ErrorContains(t, err, "x.go:4:5: missing condition in if statement", selector)
	}
}

func TestCut_NothingToShowIsAnError(t *testing.T) {
	cut := oneFile(t, "x.go", "package x\n\nfunc F() {\n\n}\n\nfunc G() {\n\t//docgen:begin a\n\n\t//docgen:end a\n}\n")
	for selector, title := range map[string]string{"F": "embed body", "G": "embed body", "region:a": "embed"} {
		_, err := cut(selector, title)
		require.ErrorContains(t, err, "is empty", selector)
	}
	for _, text := range []string{"", "\n\n", "#docgen:begin x\n#docgen:end x\n"} {
		_, err := oneFile(t, "x.sh", text)("", "embed")
		require.EqualError(t, err, "the whole of x.sh is empty: there is nothing to show")
	}
}

func TestCut_ALineDirectiveDoesNotMoveTheCut(t *testing.T) {
	cut := oneFile(t, "x.go", "package x\n\n//line other.go:100\nfunc F() {\n\t//docgen:begin a\n\tprintln()\n\t//docgen:end a\n}\n")
	snippet, err := cut("F", "embed")
	require.Equal(t, "func F() {\n\tprintln()\n}\n", code(t, snippet, err))
	require.Equal(t, 4, snippet.StartLine)
	snippet, err = cut("region:a", "embed")
	require.Equal(t, "println()\n", code(t, snippet, err))
}

func TestCut_AnEditIsSeenAndEverythingMayHappenAtOnce(t *testing.T) {
	dir := repotest.New(t, map[string]string{"x.go": "package x\n\nfunc F() { println(1) }\n"})
	tree, err := source.Open(dir)
	require.NoError(t, err)
	defer tree.Close() //nolint:errcheck // only read from
	all := func(want string) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				snippet, err := tree.Cut("x.go", "F", source.Modifiers{})
				if err != nil || string(snippet.Code) != want {
					t.Errorf("cut %q, %v; want %q", snippet.Code, err, want)
				}
			})
		}
		wg.Wait()
	}
	all("func F() { println(1) }\n")
	repotest.Write(t, dir, "x.go", "package x\n\nfunc F() { println(2) }\n")
	all("func F() { println(2) }\n")
}
