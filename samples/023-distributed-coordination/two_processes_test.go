package coordination_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// These tests run themselves in two more processes, whose environment says what
// to guard the critical section with.
const (
	guardEnv    = "RELAY_SAMPLE_GUARD"
	databaseEnv = "RELAY_SAMPLE_DATABASE"
)

func TestMutex_DoesNotCoordinateTwoProcesses(t *testing.T) {
	if os.Getenv(guardEnv) != "" {
		enterAndStay(t)
		return
	}
	first, second := startProcess(t, "mutex", ""), startProcess(t, "mutex", "")
	require.Equal(t, "inside", first.says(t))
	require.Equal(t, "inside", second.says(t), "each process has a mutex of its own, so both are inside")
}

func TestLock_CoordinatesTwoProcesses(t *testing.T) {
	if os.Getenv(guardEnv) != "" {
		enterAndStay(t)
		return
	}
	database := pgtest.DSN(t)
	first := startProcess(t, "lock", database)
	require.Equal(t, "inside", first.says(t))

	second := startProcess(t, "lock", database)
	require.Equal(t, "refused", second.says(t), "while one process is inside the other is kept out")

	first.leave(t)
	third := startProcess(t, "lock", database)
	require.Equal(t, "inside", third.says(t), "and gets in once the first has left")
}

func TestElection_NextInstanceLeadsWhenTheLeadersProcessIsKilled(t *testing.T) {
	if os.Getenv(guardEnv) != "" {
		enterAndStay(t)
		return
	}
	db := newDatabase(t)
	leader := startProcess(t, "election", db.Config.ConnString())
	require.Equal(t, "inside", leader.says(t))

	locker, waits := db.newWaiter(t)
	elector := newElector(t, locker)
	var killed atomic.Bool
	elected := make(chan error, 1)
	go func() {
		elected <- elector.Run(t.Context(), "reports", func(context.Context) error {
			if !killed.Load() {
				return errors.New("elected beside the leader")
			}
			return nil
		})
	}()
	select {
	case <-waits: // a candidate, and refused
	case err := <-elected:
		require.NoError(t, err)
	}
	killed.Store(true)
	require.NoError(t, leader.cmd.Process.Kill()) // kill -9: it releases nothing

	require.NoError(t, <-elected, "its connection ends with it, so the server frees the lock")
}

// mutex is what "just use a static lock" comes down to.
var mutex sync.Mutex

// enterAndStay is what such a process does: it enters the critical section if
// it can, says so, and stays until its standard input ends.
func enterAndStay(t *testing.T) {
	inside := func(context.Context) error {
		fmt.Println("inside")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	if os.Getenv(guardEnv) == "mutex" {
		mutex.Lock()
		defer mutex.Unlock()
		require.NoError(t, inside(t.Context()))
		return
	}
	cfg, err := pgxpool.ParseConfig(os.Getenv(databaseEnv))
	require.NoError(t, err)
	locker, err := postgres.NewLocker(cfg, postgres.LockerConfig{})
	require.NoError(t, err)
	if os.Getenv(guardEnv) == "election" {
		require.NoError(t, newElector(t, locker).Run(t.Context(), "reports", inside))
		return
	}
	lock, err := locker.TryAcquire(t.Context(), export)
	if errors.Is(err, relay.ErrNotAcquired) {
		fmt.Println("refused")
		return
	}
	require.NoError(t, err)
	require.NoError(t, inside(t.Context()))
	require.NoError(t, lock.Release(t.Context()))
}

// instance is another process that runs the test that started it.
type instance struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Scanner
	left   sync.Once
}

func startProcess(t *testing.T, guard, database string, tune ...func(*exec.Cmd)) *instance {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), guardEnv+"="+guard, databaseEnv+"="+database)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	for _, f := range tune {
		f(cmd)
	}
	require.NoError(t, cmd.Start())
	p := &instance{cmd: cmd, stdin: stdin, stdout: bufio.NewScanner(stdout)}
	t.Cleanup(func() { p.leave(t) })
	return p
}

// says returns the next line that the process prints.
func (p *instance) says(t *testing.T) string {
	t.Helper()
	require.True(t, p.stdout.Scan(), "the process ended without a word")
	return p.stdout.Text()
}

// leave makes the process go out of the critical section and end.
func (p *instance) leave(t *testing.T) {
	t.Helper()
	p.left.Do(func() {
		require.NoError(t, p.stdin.Close())
		for p.stdout.Scan() { // until it has ended
		}
		_ = p.cmd.Wait()
	})
}
