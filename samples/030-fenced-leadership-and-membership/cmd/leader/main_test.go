package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/internal/pgtest"
)

// instance is a process of its own, as in a terminal of its own.
type instance struct {
	cmd   *exec.Cmd
	lines chan string
}

// build makes the program once for a test.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "leader")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

func startInstance(t *testing.T, program, database, name string) *instance {
	t.Helper()
	cmd := exec.Command(program, "-database", database, "-role", t.Name(), "-name", name, "-ttl", "1s")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	i := &instance{cmd: cmd, lines: make(chan string, 10_000)}
	go func() {
		defer close(i.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			i.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		for range i.lines { // until the pipe is closed
		}
		_ = cmd.Wait()
	})
	return i
}

// await reads lines until one has all the parts. It fails when the process ends
// first, or never comes to it.
func (i *instance) await(t *testing.T, parts ...string) {
	t.Helper()
	patience := time.After(2 * time.Minute)
	for {
		select {
		case line, running := <-i.lines:
			require.True(t, running, "the process ended and never printed %q", parts)
			t.Log(line)
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return
			}
		case <-patience:
			require.FailNow(t, "in vain", "the process has not printed %q", parts)
		}
	}
}

func (i *instance) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, i.cmd.Process.Signal(s))
}

func TestLeader_NextInstanceTakesOver(t *testing.T) {
	database := pgtest.DSN(t) // for all: each has a role of its own
	program := build(t)
	for name, takeAway := range map[string]func(*testing.T, *instance){
		"after a clean stop": func(t *testing.T, leader *instance) {
			leader.signal(t, syscall.SIGTERM)
			leader.await(t, "gave up token 1")
		},
		"after kill -9": func(t *testing.T, leader *instance) { leader.signal(t, syscall.SIGKILL) },
		"from a frozen leader, whose late write is refused": func(t *testing.T, leader *instance) {
			leader.signal(t, syscall.SIGSTOP)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := startInstance(t, program, database, "node-a")
			a.await(t, "LEADS with token 1")
			b := startInstance(t, program, database, "node-b")
			b.await(t, "stands for")

			takeAway(t, a)
			b.await(t, "LEADS with token 2")
			b.await(t, "writes", "with token 2") // even if the leader froze in its transaction
			if strings.Contains(name, "frozen") {
				a.signal(t, syscall.SIGCONT)
				a.await(t, "REFUSED", "1 < 2")
			}
		})
	}
}

func TestLeader_SaysWhatItNeeds(t *testing.T) {
	program := build(t)
	for args, want := range map[string]string{
		"":                                   "give -database or DATABASE_URL",
		"-database postgres://x/y extra":     `unexpected argument "extra"`,
		"-database postgres://x/y -ttl soon": "invalid value",
		"-database postgres://x/y -ttl 0s":   "leaves no time",
	} {
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(args)...)
		cmd.Env = append(os.Environ(), "DATABASE_URL=")
		out, err := cmd.CombinedOutput()
		require.Error(t, err, args)
		require.Equal(t, 2, cmd.ProcessState.ExitCode(), args)
		require.Contains(t, string(out), want, "leader "+args)
		require.Equal(t, 1, strings.Count(string(out), want), "it says so once")
	}
}

func TestLeader_KeepsThePasswordToItself(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), build(t), "-h")
	cmd.Env = append(os.Environ(), "DATABASE_URL=postgres://relay:secret@localhost/relay")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "DATABASE_URL")
	require.NotContains(t, string(out), "secret")
}
