package results_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

// background is for what outlives the test that starts it.
var background = context.Background()

func TestRecord_AFailedTestIsAResultAndNoError(t *testing.T) {
	r := record(t)
	set := load(t, r.file)
	for name, want := range map[string]results.Status{
		"TestPasses": results.Passed, "TestFails": results.Failed, "TestSkips": results.Skipped, "Example": results.Passed,
		"TestSubtests": results.Skipped, "TestSubtests/one_of_two": results.Passed, "TestSubtests/a/b": results.Skipped,
		"TestParallel1": results.Passed, "TestNone": results.NotRun, "TestSubtests/none": results.NotRun, "": results.NotRun,
	} {
		require.Equal(t, want, set.Test("s/x", name).Status, name)
	}
	require.Equal(t, results.NotRun, set.Test("s", "TestPasses").Status)
	require.Equal(t, results.NotRun, set.Test("relay", "TestPasses").Status)

	require.Contains(t, r.progress, "failed\ts/x\tTestFails\n")
	require.Contains(t, r.progress, "failed\ts/x/cmd/tool\t")
	require.Contains(t, r.progress, "skipped\ts/x\t3 tests, in whole or in part\n")
	require.NotContains(t, r.progress, "skipped\ts/x/cmd/tool")
}

func TestRecord_TheHeaderNamesPackagesTestsAndSourcesAndNothingOfTheMachine(t *testing.T) {
	r := record(t)
	header, _, _ := strings.Cut(r.file, "\n")
	for _, want := range []string{
		`{"docgen":1,"go":"go1.`,
		`{"package":"example.com/m/s/x","dir":"s/x","tests":["TestPasses","TestFails",`,
		`{"package":"example.com/m/s/x/cmd/tool","dir":"s/x/cmd/tool","tests":["TestBegins","TestPanics","TestComesAfter"]`,
		`"sources":{"go.mod":"`, `"relay":"`, `"s/x":"`,
	} {
		require.Contains(t, header, want)
	}
	require.NotContains(t, header, "unused")
	require.NotContains(t, r.file, r.dir, "a stack trace must not tell where the checkout is")
	require.NotRegexp(t, `\\t/`, r.file, "nor where Go is")
	require.Contains(t, r.file, "s/x/cmd/tool/main_test.go:7", "but it must tell the line")
}

func TestRecord_APackageThatDoesNotBuildIsAnErrorWithTheCompilersOutput(t *testing.T) {
	dir := repotest.New(t, map[string]string{
		"go.mod":           "module example.com/m\n\ngo 1.26\n",
		"ok/ok.go":         "package ok\n",
		"broken/b.go":      "package broken\n",
		"broken/b_test.go": "package broken\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { undefinedName() }\n",
	})
	var file bytes.Buffer
	err := results.Record(t.Context(), dir, []string{"./ok", "./broken"}, &file, io.Discard)
	require.ErrorContains(t, err, "the tests do not build")
	require.ErrorContains(t, err, "b_test.go:5:28: undefined: undefinedName")
	require.NotContains(t, err.Error(), dir)
}

func TestRecord_WhatCannotBeRunIsAnError(t *testing.T) {
	dir := repotest.New(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "a/a.go": "package a\n"})
	require.ErrorContains(t, results.Record(t.Context(), dir, []string{"./none"}, io.Discard, io.Discard), "none")
	require.ErrorContains(t, results.Record(t.Context(), dir, []string{"./a/b/..."}, io.Discard, io.Discard), "a/b")
	require.Error(t, results.Record(t.Context(), filepath.Join(dir, "none"), []string{"./..."}, io.Discard, io.Discard))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, results.Record(ctx, dir, []string{"./..."}, io.Discard, io.Discard), context.Canceled)

	full := errors.New("disk full")
	require.ErrorIs(t, results.Record(t.Context(), dir, []string{"./..."}, failingWriter{full}, io.Discard), full)
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestRecord_SourcesThatChangeWhileTheTestsRunAreAnError(t *testing.T) {
	dir := repotest.New(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "a/a.go": "package a\n"})
	// The header comes before the tests: an edit at that moment is one during
	// the run.
	edit := writerFunc(func(p []byte) (int, error) {
		return len(p), os.WriteFile(filepath.Join(dir, "a", "a.go"), []byte("package a // edited\n"), 0o644)
	})
	err := results.Record(t.Context(), dir, []string{"./a"}, edit, io.Discard)
	require.EqualError(t, err, "sources of a changed while its tests ran: record again")
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
