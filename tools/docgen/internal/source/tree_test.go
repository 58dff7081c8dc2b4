package source_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

func TestRead_NothingOutsideOfTheRepository(t *testing.T) {
	outside := repotest.New(t, map[string]string{"secret": "secret\n", "dir/secret": "secret\n"})
	dir := repotest.New(t, map[string]string{"samples/x.go": "package x\n"})
	link := func(target, name string) {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	link(filepath.Join(outside, "secret"), "link")
	link(filepath.Join("..", filepath.Base(outside), "secret"), "relative")
	link(filepath.Join(outside, "dir"), "folder")
	tree, err := source.Open(dir)
	require.NoError(t, err)
	defer tree.Close() //nolint:errcheck // only read from

	for _, name := range []string{
		"link", "relative", "folder/secret",
		"../" + filepath.Base(outside) + "/secret",
		"samples/../../" + filepath.Base(outside) + "/secret",
		filepath.Join(outside, "secret"),
		"..", "", "/", "samples//x.go", "./samples/x.go",
		"%2e%2e/" + filepath.Base(outside) + "/secret",
		"..%2f" + filepath.Base(outside) + "/secret",
	} {
		_, err := tree.Read(name)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), dir, "a message must not tell where the checkout is")
		_, err = tree.Cut(name, "", source.Modifiers{})
		require.Error(t, err, name)
		_, err = tree.Stat(name)
		require.Error(t, err, name)
	}

	files, err := tree.Files(".")
	require.NoError(t, err)
	require.Equal(t, []string{"samples/x.go"}, files, "what links lead out to is not listed either")
}

func TestRead_ALinkInsideOfTheRepositoryIsFollowed(t *testing.T) {
	dir := repotest.New(t, map[string]string{"a/file.txt": "text\n"})
	require.NoError(t, os.Symlink(filepath.Join("a", "file.txt"), filepath.Join(dir, "link.txt")))
	tree, err := source.Open(dir)
	require.NoError(t, err)
	defer tree.Close() //nolint:errcheck // only read from

	text, err := tree.Read("link.txt")
	require.NoError(t, err)
	require.Equal(t, "text\n", string(text))
	files, err := tree.Files(".")
	require.NoError(t, err)
	require.Equal(t, []string{"a/file.txt", "link.txt"}, files)
}

func TestRead_LineEndsAreNormalisedAndTheByteOrderMarkIsDropped(t *testing.T) {
	tree := newTree(t, map[string]string{"x.txt": "\uFEFFone\r\ntwo\rthree\n"})
	text, err := tree.Read("x.txt")
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\nthree\n", string(text))
}

func TestRead_TheErrorSaysWhatIsThere(t *testing.T) {
	tree := newTree(t, map[string]string{"samples/x.go": "package x\n"})

	_, err := tree.Read("samples/y.go")
	require.EqualError(t, err, "samples/y.go does not exist")
	require.ErrorIs(t, err, fs.ErrNotExist)

	_, err = tree.Read("samples")
	require.EqualError(t, err, "samples is a folder: name a file in it")

	_, err = tree.Files("samples/x.go")
	require.ErrorContains(t, err, "samples/x.go is a file")
}

func TestFiles_AreSortedByPathWithoutHiddenOnes(t *testing.T) {
	tree := newTree(t, map[string]string{
		"s/b.go": "", "s/a/z.go": "", "s/a-b.go": "", "s/testdata/golden": "", "s/.env": "", "s/.git/config": "", "t/x": "",
	})
	files, err := tree.Files("s")
	require.NoError(t, err)
	require.Equal(t, []string{"s/a-b.go", "s/a/z.go", "s/b.go", "s/testdata/golden"}, files)
}

func TestReadBytes_LeavesAnImageAsItIs(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00"
	tree := newTree(t, map[string]string{"p.png": png})
	data, err := tree.ReadBytes("p.png")
	require.NoError(t, err)
	require.Equal(t, png, string(data))
}

func TestRead_WhatIsNoTextIsAnErrorWithItsLine(t *testing.T) {
	tree := newTree(t, map[string]string{"latin1.md": "a\nb\xfc\n", "nul.md": "a\x00\n"})
	_, err := tree.Read("latin1.md")
	require.EqualError(t, err, "latin1.md is not UTF-8 text in line 2: save it as UTF-8")
	_, err = tree.Read("nul.md")
	require.ErrorContains(t, err, "line 1")
}

func TestRefresh_BeginsAReadingInWhichAFileIsLookedAtOnce(t *testing.T) {
	root := repotest.New(t, map[string]string{"x.go": "package x\n\nfunc A() { println(1) }\n"})
	tree := repotest.Open(t, root)
	cut := func() string {
		snippet, err := tree.Cut("x.go", "A", source.Modifiers{})
		require.NoError(t, err)
		return string(snippet.Code)
	}
	change := func(to string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, "x.go"), []byte("package x\n\nfunc A() { println("+to+") }\n"), 0o600))
	}
	require.Contains(t, cut(), "println(1)")
	change("2")
	require.Contains(t, cut(), "println(2)", "a tree that is never refreshed looks each time")

	tree.Refresh()
	require.Contains(t, cut(), "println(2)")
	change("3")
	require.Contains(t, cut(), "println(2)", "within a reading all pieces are of one file")
	tree.Refresh()
	require.Contains(t, cut(), "println(3)")
}
