//go:build unix

package pgtest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// childMode tells a copy of this test binary what to do.
const childMode = "PGTEST_CHILD"

// TestChild is the body of the copies that other tests start. It stands for a
// test of another package.
func TestChild(t *testing.T) {
	mode := os.Getenv(childMode)
	if mode == "" {
		t.Skip("runs only inside of other tests")
	}
	fmt.Println("dsn:", pgtest.DSN(t))
	switch mode {
	case "end":
	case "panic":
		panic("a test that panics")
	case "exit":
		os.Exit(3)
	case "stay": // to be killed
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "wait": // to be killed, while a process it started lives on
		grandchild := exec.Command("sleep", "300")
		require.NoError(t, grandchild.Start())
		fmt.Println("grandchild:", grandchild.Process.Pid)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
}

// TestChildSuperuser is TestChild for SuperuserDSN.
func TestChildSuperuser(t *testing.T) {
	if os.Getenv(childMode) == "" {
		t.Skip("runs only inside of other tests")
	}
	fmt.Println("dsn:", pgtest.SuperuserDSN(t))
}

// child returns a command that runs TestChild alone, in a clean environment
// with env added.
func child(t *testing.T, mode string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestChild$", "-test.v", "-test.timeout=5m")
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "RELAY_") || strings.HasPrefix(kv, pgtest.EnvImage+"=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, childMode+"="+mode), env...)
	return cmd
}

// output runs a child to its end, and returns what it said and its verdict.
func output(t *testing.T, cmd *exec.Cmd) (string, error) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return said.String(), err
}

// running is a child that has its database and goes on.
type running struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  *bufio.Scanner
	before string // what it said before the line asked for
}

func start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &running{cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
}

// line awaits a line that begins with prefix and returns the rest.
func (r *running) line(t *testing.T, prefix string) string {
	t.Helper()
	for r.lines.Scan() {
		if value, ok := strings.CutPrefix(r.lines.Text(), prefix); ok {
			return value
		}
		r.before += r.lines.Text() + "\n"
	}
	require.FailNow(t, "the child ended before it said "+prefix, r.before)
	return ""
}

// asOrdinaryUser makes cmd run as a user who is not root, in tmp.
func asOrdinaryUser(t *testing.T, cmd *exec.Cmd, tmp string) {
	t.Helper()
	cmd.Env = append(cmd.Env, "HOME=/nonexistent", "TMPDIR="+tmp)
	if os.Geteuid() != 0 {
		return
	}
	cmd.Path = ordinaryCopy(t, cmd.Path)
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = "/"
}

// ordinaryCopy copies a program to where everybody may run it.
func ordinaryCopy(t *testing.T, path string) string {
	t.Helper()
	binary, err := os.ReadFile(path)
	require.NoError(t, err)
	copied := filepath.Join(openDir(t), filepath.Base(path))
	writeProgram(t, copied, binary)
	return copied
}

// writeProgram lets no other test fork meanwhile: its child would have the file
// open for writing for a moment, and to run it would fail with "text file busy".
func writeProgram(t *testing.T, path string, content []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, content, 0o755))
}

// tree tells when a command, and whatever it started, has ended.
type tree struct {
	t    *testing.T
	left *os.File // ends with the last process that has inherited its other end
	in   *os.File
}

// treeOf is called before cmd starts.
func treeOf(t *testing.T, cmd *exec.Cmd) *tree {
	t.Helper()
	left, in, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = left.Close(), in.Close() })
	// Descriptor 3 is replaced in installed.sh; nobody touches 4.
	cmd.ExtraFiles = []*os.File{in, in}
	return &tree{t: t, left: left, in: in}
}

// gone awaits the end. The command itself has ended.
func (tr *tree) gone() bool {
	_ = tr.in.Close()
	assert.NoError(tr.t, tr.left.SetReadDeadline(time.Now().Add(2*time.Minute)))
	_, err := io.Copy(io.Discard, tr.left)
	return assert.NoError(tr.t, err, "a process was left behind")
}

// openDir is a directory that the unprivileged user can enter, too.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pgtest-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// program writes an executable shell script.
func program(t *testing.T, path, script string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	writeProgram(t, path, []byte("#!/bin/sh\n"+script+"\n"))
}
