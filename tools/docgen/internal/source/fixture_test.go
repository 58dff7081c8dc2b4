package source_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// newTree returns a repository with these files, by path.
func newTree(t *testing.T, files map[string]string) *source.Tree {
	t.Helper()
	tree, err := source.Open(newRepository(t, files))
	require.NoError(t, err)
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

func newRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, dir, name, content)
	}
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
}

// oneFile returns a function that cuts out of a file with this content.
func oneFile(t *testing.T, name, content string) func(selector, title string) (source.Snippet, error) {
	t.Helper()
	tree := newTree(t, map[string]string{name: content})
	return func(selector, title string) (source.Snippet, error) {
		modifiers, err := source.ParseModifiers(title)
		require.NoError(t, err)
		return tree.Cut(name, selector, modifiers)
	}
}

// code is the code of a cut that must succeed.
func code(t *testing.T, snippet source.Snippet, err error) string {
	t.Helper()
	require.NoError(t, err)
	return string(snippet.Code)
}
