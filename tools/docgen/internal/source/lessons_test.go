package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

func TestD1_AMissingIncludeAMissingAnchorOrAnUnterminatedOneIsAnError(t *testing.T) {
	tree := newTree(t, map[string]string{"x.go": `package x

func F() {
	//docgen:begin open
	_ = 1
}
`})
	for selector, want := range map[string]string{
		"G":           "no G in x.go",
		"region:none": "no region none in x.go",
		"region:open": "x.go:4:2: region open never ends",
		"F":           "x.go:4:2: region open never ends",
	} {
		snippet, err := tree.Cut("x.go", selector, source.Modifiers{})
		require.ErrorContains(t, err, want, selector)
		require.Zero(t, snippet, "nothing is cut instead")
	}
	_, err := tree.Cut("y.go", "F", source.Modifiers{})
	require.EqualError(t, err, "y.go does not exist")
}

func TestD2_ASymbolIsFoundByTheParserAndMustExistExactlyOnce(t *testing.T) {
	const text = `package x

import "testing"

func TestAB(t *testing.T) {
	t.Log("AB")
}

func TestA(t *testing.T) {
	t.Log("}") // a brace: }
	t.Log('}', ` + "`\n}\n`" + `)
	/* } */
}

func init() {}

func init() { println() }
`
	cut := oneFile(t, "x_test.go", text)

	snippet, err := cut("TestA", "embed")
	require.Equal(t, text[strings.Index(text, "func TestA("):strings.Index(text, "\nfunc init")], code(t, snippet, err)) //nolint:gocritic // is there
	require.Equal(t, 9, snippet.StartLine)
	require.Equal(t, 15, snippet.EndLine)
	require.Equal(t, "TestA", snippet.Test)

	_, err = cut("TestAC", "embed")
	require.EqualError(t, err, "no TestAC in x_test.go; did you mean TestA or TestAB?")
	_, err = cut("init", "embed")
	require.EqualError(t, err, "init is in x_test.go twice: lines 17 and 19; give one of them another name")
}

func TestD4_FilesAreReadThroughTheRoot(t *testing.T) {
	outside := repotest.New(t, map[string]string{"x.go": "package x\n\nfunc F() {}\n"})
	dir := repotest.New(t, map[string]string{"samples/y.go": "package y\n"})
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "samples", "out")))
	tree, err := source.Open(dir)
	require.NoError(t, err)
	defer tree.Close() //nolint:errcheck // only read from

	for _, name := range []string{"samples/out/x.go", "samples/../../" + filepath.Base(outside) + "/x.go", "samples/%2e%2e/%2e%2e/x.go"} {
		_, err := tree.Cut(name, "F", source.Modifiers{})
		require.Error(t, err, name)
	}
}

func TestD13_CRLFSourcesGiveTheSameSnippet(t *testing.T) {
	golden, err := os.ReadFile("testdata/crlf.golden")
	require.NoError(t, err)
	lf, err := os.ReadFile("testdata/lf.go.txt")
	require.NoError(t, err)
	require.NotContains(t, string(lf), "\r")
	for ending, text := range map[string]string{
		"LF":   string(lf),
		"CRLF": "\uFEFF" + strings.ReplaceAll(string(lf), "\n", "\r\n"),
		"CR":   strings.ReplaceAll(string(lf), "\n", "\r"),
	} {
		cut := oneFile(t, "x_test.go", text)
		var got strings.Builder
		for _, selector := range []string{"", "TestX", "TestX/sub_test", "region:part", "Group"} {
			snippet, err := cut(selector, "embed")
			fmt.Fprintf(&got, "#%s %d-%d\n%s", selector, snippet.StartLine, snippet.EndLine, code(t, snippet, err))
		}
		require.Equal(t, string(golden), got.String(), ending)
	}
}
