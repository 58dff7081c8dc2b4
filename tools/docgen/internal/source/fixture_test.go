package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// newTree returns a repository with these files, by path.
func newTree(t *testing.T, files map[string]string) *source.Tree {
	t.Helper()
	return repotest.Open(t, repotest.New(t, files))
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
