package source_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

func TestTests_AreThoseThatGoTestRunsAlsoInFoldersBelow(t *testing.T) {
	const test = "package x\n\nimport \"testing\"\n\n"
	tree := newTree(t, map[string]string{
		"s/b_test.go":                 test + "// TestB is\n// documented.\nfunc TestB(t *testing.T) {\n}\nfunc FuzzB(f *testing.F) {}\n",
		"s/a_test.go":                 test + "func TestMain(m *testing.M) {}\nfunc Example() {\n\t// Output: a\n}\nfunc TestA(t *testing.T) {}\nfunc helper(t *testing.T) {}\n",
		"s/a.go":                      test + "func TestNot(t *testing.T) {}\n",
		"s/cmd/leader/m_test.go":      test + "func TestM(t *testing.T) {}\n",
		"s/testdata/t_test.go":        test + "func TestT(t *testing.T) {}\n",
		"s/_old/o_test.go":            test + "func TestO(t *testing.T) {}\n",
		"s/_skipped_test.go":          test + "func TestS(t *testing.T) {}\n",
		"s/cmd/.hidden/h_test.go":     test + "func TestH(t *testing.T) {}\n",
		"other/o_test.go":             test + "func TestOther(t *testing.T) {}\n",
		"s/tagged_linux_test.go":      "//go:build windows\n\n" + test + "func TestTagged(t *testing.T) {}\n",
		"s/broken/testdata/b_test.go": "no Go",
	})
	tests, err := tree.Tests("s")
	require.NoError(t, err)
	require.Equal(t, []source.Test{
		{Name: "Example", Path: "s/a_test.go", Line: 6, EndLine: 8, Package: "./s"},
		{Name: "TestA", Path: "s/a_test.go", Line: 9, EndLine: 9, Package: "./s"},
		{Name: "TestB", Path: "s/b_test.go", Line: 7, EndLine: 8, Package: "./s", Doc: "TestB is\ndocumented.\n"},
		{Name: "FuzzB", Path: "s/b_test.go", Line: 9, EndLine: 9, Package: "./s"},
		{Name: "TestTagged", Path: "s/tagged_linux_test.go", Line: 7, EndLine: 7, Package: "./s"},
		{Name: "TestM", Path: "s/cmd/leader/m_test.go", Line: 5, EndLine: 5, Package: "./s/cmd/leader"},
	}, tests)

	tests, err = tree.Tests("s/cmd")
	require.NoError(t, err)
	require.Len(t, tests, 1)
	_, err = tree.Tests("none")
	require.EqualError(t, err, "none does not exist")

	tree = newTree(t, map[string]string{"s/x_test.go": "package x\nfunc {\n"})
	_, err = tree.Tests("s")
	require.ErrorContains(t, err, "s/x_test.go:2:6")
	_, err = tree.Exported("s")
	require.ErrorContains(t, err, "s has no Go files besides tests")
}

func TestExported_IsTheAPIWithoutTests(t *testing.T) {
	tree := newTree(t, map[string]string{
		"p/a.go": `package p

const (
	A, b = 1, 2
)

var ErrX, errY = error(nil), error(nil)

type Locker interface {
	tryLocker
	Lock()
	unlock()
}

type tryLocker interface{ TryLock() }

type Config struct {
	*Base[int]
	TTL, ttl int
	other.Mixed
}

type hidden struct{ Field int }

func (hidden) Method() {}

func New() {}

type Loop struct{ *Loop2 }
`,
		"p/b.go": `package p

type Base[T any] struct { hidden; Next T }

func (b *Base[T]) Run() {}
func (b *Base[T]) run() {}

type Loop2 struct { *Loop; X int }

type Alias = Config
`,
		"p/a_test.go":   "package p\n\ntype InTest int\n",
		"p/sub/c.go":    "package sub\n\ntype InSub int\n",
		"p/_ignored.go": "package q\n\ntype Ignored int\n",
	})
	api, err := tree.Exported("p")
	require.NoError(t, err)
	require.Equal(t, []string{
		"A", "Alias", "Base", "Base.Field", "Base.Method", "Base.Next", "Base.Run",
		"Config", "Config.Base", "Config.Field", "Config.Method", "Config.Mixed", "Config.Next", "Config.Run", "Config.TTL",
		"ErrX", "Locker", "Locker.Lock", "Locker.TryLock",
		"Loop", "Loop.Loop", "Loop.Loop2", "Loop.X", "Loop2", "Loop2.Loop", "Loop2.Loop2", "Loop2.X", "New",
	}, slices.Sorted(maps.Keys(api)))

	for _, dir := range []string{"none", "p/a.go", "../p"} {
		_, err := tree.Exported(dir)
		require.Error(t, err, dir)
	}
}
