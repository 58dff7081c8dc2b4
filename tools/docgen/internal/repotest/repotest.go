// Package repotest makes small repositories for docgen's tests.
package repotest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// New returns the root of a repository with these files, by path.
func New(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		Write(t, root, name, content)
	}
	return root
}

// Write writes a file, with the folders that it is in.
func Write(t testing.TB, root, name, content string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
}

// Open opens a repository until the test ends.
func Open(t testing.TB, root string) *source.Tree {
	t.Helper()
	tree, err := source.Open(root)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tree.Close()) })
	return tree
}
