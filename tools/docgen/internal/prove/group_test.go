//go:build unix

package prove_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/prove"
)

// childOf returns the process that a script has written to the file child.
func childOf(t *testing.T, root string) int {
	t.Helper()
	pid := 0
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(root, "child"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && strings.HasSuffix(string(text), "\n")
	}, 10*time.Second, time.Millisecond)
	require.Positive(t, pid)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// ends wants a process to be gone, or dead and not yet waited for.
func ends(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err == nil {
			_, state, _ := strings.Cut(string(stat), ") ")
			return strings.HasPrefix(state, "Z")
		}
		return syscall.Kill(pid, 0) != nil
	}, 10*time.Second, time.Millisecond, "process %d goes on", pid)
}

func TestCommands_InterruptedEndWithTheirChildrenAndAreNoFinding(t *testing.T) {
	root := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan []finding.Finding, 1)
	go func() {
		ended <- prove.Commands(ctx, root, []*book.Command{
			command("sleep 100 & echo $! >child.new; mv child.new child; wait"), command("touch second"),
		})
	}()
	child := childOf(t, root)
	interrupt()
	require.Empty(t, <-ended)
	ends(t, child)
	require.NoFileExists(t, filepath.Join(root, "second"), "nothing more is run")
}

func TestCommands_EndWithTheirChildrenAlsoWhenThoseAreSilentOrTheCommandFails(t *testing.T) {
	for _, ending := range []string{"true", "false"} {
		root := t.TempDir()
		prove.Commands(t.Context(), root, []*book.Command{command("sleep 100 >/dev/null 2>&1 & echo $! >child.new; mv child.new child; " + ending)})
		ends(t, childOf(t, root))
	}
}

func TestCommands_ProcessLeftBehindIsAFindingAndIsEnded(t *testing.T) {
	root := t.TempDir()
	findings := prove.Commands(t.Context(), root, []*book.Command{command("sleep 100 & echo $! >child.new; mv child.new child")})
	require.Len(t, findings, 1)
	require.Contains(t, findings[0].Message, "it left a process behind")
	ends(t, childOf(t, root))
}

// A patch may make its test hang: go test has to end it before the whole command
// is, so that it says where.
func TestBreaks_GoTestEndsATestThatHangsBeforeItIsEndedItself(t *testing.T) {
	root, tree := module(t)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\necho called with \"$@\"\nexit 1\n"), 0o755))
	t.Setenv("PATH", bin)
	findings, _ := prove.Breaks(t.Context(), root, tree, []book.Break{patch("\treturn token >= highest", "\treturn true")})
	require.Len(t, findings, 1)
	require.Contains(t, findings[0].Message, "called with test -v -count=1 -timeout=4m0s ")
}
