package source_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const subtests = `package x_test

import "testing"

func TestX(t *testing.T) {
	// It needs little.
	t.Run("sub test", func(t *testing.T) {
		t.Run("deep/er", func(s *testing.T) {
			s.Log("deep")
		})
	})
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Run("inside", func(t *testing.T) {})
		})
	}
	runner.Run("not a test", func(t *testing.T) {})
	check := func(tt *testing.T) {
		tt.Run("helped", helper)
	}
	check(t)
	t.Run("twice", helper)
	t.Run("twice", helper)
	t.Run("100%", func(t *testing.T) { t.Log("all") })
}

func helper(t *testing.T) {
	t.Run("nobody's", helper)
}

func TestPlain(t *testing.T) { t.Log("sub test") }
`

func TestCut_ASubtestIsNamedAsInTheSourceOrAsGoTestDoes(t *testing.T) {
	cut := oneFile(t, "x_test.go", subtests)
	deep := "t.Run(\"deep/er\", func(s *testing.T) {\n\ts.Log(\"deep\")\n})\n"
	for selector, want := range map[string]string{
		"TestX/sub_test/deep/er":        deep,
		"TestX/sub test/deep/er":        deep,
		"TestX/sub%20test/deep%2Fer":    deep,
		"TestX/helped":                  "tt.Run(\"helped\", helper)\n",
		"TestX/100%25":                  "t.Run(\"100%\", func(t *testing.T) { t.Log(\"all\") })\n",
		"TestX/100%":                    "t.Run(\"100%\", func(t *testing.T) { t.Log(\"all\") })\n",
		"%54est%50lain":                 "func TestPlain(t *testing.T) { t.Log(\"sub test\") }\n",
		"TestX/sub_test/deep%2fer?body": "",
	} {
		snippet, err := cut(selector, "embed")
		if want == "" {
			require.Error(t, err, selector)
			continue
		}
		require.Equal(t, want, code(t, snippet, err), selector)
	}

	snippet, err := cut("TestX/sub%20test/deep/er", "embed body")
	require.Equal(t, "s.Log(\"deep\")\n", code(t, snippet, err))
	require.Equal(t, "TestX/sub test/deep/er", snippet.Name)
	require.Equal(t, "TestX/sub_test/deep/er", snippet.Test)

	snippet, err = cut("TestX/sub_test", "embed doc")
	require.Equal(t, "// It needs little.\n", strings.SplitAfter(code(t, snippet, err), "\n")[0])
}

func TestCut_OnlyALiteralTRunIsASubtest(t *testing.T) {
	cut := oneFile(t, "x_test.go", subtests)
	for selector, want := range map[string]string{
		"TestX/name":       "no TestX/name in x_test.go",
		"TestX/inside":     "no TestX/inside in x_test.go", // its name is longer when it runs
		"TestX/not a test": "no TestX/not_a_test in x_test.go",
		"TestX/sub_tests":  "did you mean TestX/sub_test",
		"TestX/twice":      "TestX/twice is in x_test.go twice: lines 22 and 23",
		"helper/nobody's":  "no helper/nobody's in x_test.go",
		"TestPlain/a":      "TestPlain has no t.Run whose name is a literal",
	} {
		_, err := cut(selector, "embed")
		require.ErrorContains(t, err, want, selector)
	}
}

func TestCut_OnlyWhatGoTestRunsIsATest(t *testing.T) {
	const text = `package x

import "testing"

func TestX(t *testing.T)            {}
func Testify(t *testing.T)          {}
func Test(t *testing.T)             {}
func TestMain(m *testing.M)         {}
func TestOf[T any](t *testing.T)    {}
func TestTwo(t *testing.T, n int)   {}
func TestPair(a, b *testing.T)      {}
func FuzzX(f *testing.F)            {}
func (S) TestY(t *testing.T)        {}
func ExampleX() {
	println()
	// Output: x
}
func ExampleY() { println() }
func ExampleZ() {
	// Output:
}
`
	cut := oneFile(t, "x_test.go", text)
	for selector, runs := range map[string]bool{
		"TestX": true, "Testify": false, "Test": true, "TestMain": false, "TestOf": false, "TestTwo": false, "TestPair": false,
		"FuzzX": true, "S.TestY": false, "ExampleX": true, "ExampleY": false, "ExampleZ": true,
	} {
		snippet, err := cut(selector, "embed")
		require.NoError(t, err)
		require.Equal(t, runs, snippet.Test == selector, selector)
	}
	snippet, err := oneFile(t, "x.go", text)("TestX", "embed")
	require.NoError(t, err)
	require.Empty(t, snippet.Test, "go test looks into _test.go files only")
}
