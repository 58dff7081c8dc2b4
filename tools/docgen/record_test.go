package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/stretchr/testify/require"
)

func TestRecord_ResultsAreShownAndStaleOnesAreFindings(t *testing.T) {
	root := newRepository(t)
	recorded := filepath.Join(t.TempDir(), "build", "results.jsonl")
	code, _, stderr := docgen(t, root, "record", "-o", recorded)
	require.Zero(t, code, stderr)

	out, code, said := buildSite(t, root, "-tests", recorded)
	require.Zero(t, code, said)
	require.Contains(t, get(t, out, "107-rate-limits.md"), "passed")
	require.Contains(t, get(t, out, "107-rate-limits.html"), "at most ten a second", "what the test printed")

	unrecorded, code, said := buildSite(t, root)
	require.Zero(t, code, said)
	require.Contains(t, get(t, unrecorded, "107-rate-limits.md"), "not run")

	edit(t, root, theTest, "at most ten", "at most nine")
	_, code, said = buildSite(t, root, "-tests", recorded)
	require.Equal(t, 1, code)
	require.Regexp(t, `results\.jsonl:\d+:1: the results of samples/107-rate-limits were recorded from other sources`, said)

	_, code, said = buildSite(t, root, "-tests", recorded+"x")
	require.Equal(t, 1, code)
	require.Contains(t, said, "docgen record")
}

// What can't be written is said before the tests run, and nothing is in its
// place afterwards.
func TestRecord_PlaceThatIsNoneForAFileIsAnErrorBeforeTheTestsRun(t *testing.T) {
	root, dir := newRepository(t), t.TempDir()
	edit(t, root, theTest, "t.Log(", "panic(")
	repotest.Write(t, dir, "file", "mine")
	require.NoError(t, os.Symlink(filepath.Join(dir, "file"), filepath.Join(dir, "link")))
	t.Chdir(dir)
	// In the place of a device, which a test must not put at risk.
	socket, err := new(net.ListenConfig).Listen(t.Context(), "unix", "socket")
	require.NoError(t, err)
	defer socket.Close()
	for out, want := range map[string]string{
		dir:                           "is a folder",
		filepath.Join(dir, "x") + "/": "is a folder",
		filepath.Join(dir, "link"):    "no ordinary file",
		"socket":                      "no ordinary file",
		filepath.Join(dir, "file/x"):  "not a directory",
	} {
		code, _, stderr := docgen(t, root, "record", "-o", out)
		require.Equal(t, 1, code, out)
		require.Contains(t, stderr, want, out)
		require.NotContains(t, stderr, "failed\t", "no test was run")
	}
	require.Equal(t, "mine", get(t, dir, "file"))
}
