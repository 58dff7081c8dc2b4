package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNew_WhatItWritesIsInOrderOnceItIsWritten(t *testing.T) {
	root := newRepository(t)
	code, stdout, stderr := docgen(t, root, "check")
	require.Zero(t, code, stdout+stderr)

	before := files(t, root)
	code, _, stderr = docgen(t, root, "new", "107-rate-limits")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "exists; nothing was written")
	require.Equal(t, before, files(t, root))
}

func TestNew_WhatNobodyHasWrittenIsAFinding(t *testing.T) {
	root := emptyRepository(t)
	code, _, stderr := docgen(t, root, "new", "107-rate-limits")
	require.Zero(t, code, stderr)
	code, stdout, _ := docgen(t, root, "check")
	require.Equal(t, 1, code)
	for _, want := range []string{"summary is missing", "learn is missing", "concepts is missing", "lists no topic of this article", `below the heading "Testing"`} {
		require.Contains(t, stdout, want)
	}
	test := exec.CommandContext(t.Context(), "go", "test", "./samples/107-rate-limits")
	test.Dir = root
	out, err := test.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "--- FAIL: TestRate_SaysWhatItGuarantees")
}

func TestNew_SaysWhatItWroteAndWhatToDoNext(t *testing.T) {
	code, stdout, stderr := docgen(t, emptyRepository(t), "new", "107-rate-limits")
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?s)^articles/107-rate-limits.md\nsamples/107-rate-limits/doc.go\nsamples/107-rate-limits/ratelimits_test.go\n`+
		`.*go test ./samples/107-rate-limits\n.*tools/docgen/README.md.*articles/topics.tsv.*make docs-gen.*make docs-check.*make serve`, stdout)
}

// The go command leaves out a file whose name ends in a system, a folder whose
// package has a keyword for its name does not build.
func TestNew_EveryNameGivesAPackageWithATestOrIsRefused(t *testing.T) {
	root := emptyRepository(t)
	for _, slug := range []string{"101-on-windows", "102-x-test", "103-a-amd64", "104-a-js-wasm-test", "105-null"} {
		code, _, stderr := docgen(t, root, "new", slug)
		require.Zero(t, code, stderr)
		list := exec.CommandContext(t.Context(), "go", "list", "-f", "{{len .XTestGoFiles}}{{len .IgnoredGoFiles}}", "./samples/"+slug)
		list.Dir = root
		out, err := list.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, "10\n", string(out), slug)
	}
	_, stdout, _ := docgen(t, root, "check")
	require.NotContains(t, stdout, "title is missing", "Null is a title too")

	before := files(t, root)
	for slug, want := range map[string]string{
		"107-go": "keyword", "107-func": "keyword", "107-string": "declared", "107-main": "of its own", "107-init": "of its own",
		"107-documentation": "of its own", "Rate Limits": "107-rate-limits", "107-../x": "107-rate-limits", "107-": "107-rate-limits",
	} {
		code, _, stderr := docgen(t, root, "new", slug)
		require.Equal(t, 2, code, slug)
		require.Contains(t, stderr, want)
	}
	require.Equal(t, before, files(t, root))
}

func TestNew_WritesThroughNoLinkAndTakesBackWhatItWroteBefore(t *testing.T) {
	for _, linked := range []string{"samples", "samples/107-rate-limits"} {
		root, outside := emptyRepository(t), t.TempDir()
		link := filepath.Join(root, linked)
		require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
		require.NoError(t, os.Symlink(outside, link))
		code, stdout, stderr := docgen(t, root, "new", "107-rate-limits")
		require.Equal(t, 1, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "samples/107-rate-limits/doc.go can't be written, and nothing was")
		require.Empty(t, files(t, outside))
		require.NoFileExists(t, filepath.Join(root, article))
		require.FileExists(t, filepath.Join(root, "articles/topics.tsv"))
		target, err := os.Readlink(link)
		require.NoError(t, err)
		require.Equal(t, outside, target, "what was there is there still")
	}
}
