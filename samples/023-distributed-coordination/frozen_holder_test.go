//go:build unix

package coordination_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/postgres"
)

// A holder that is stalled but alive: its process is frozen, as by a debugger or
// a host that is overloaded. Its connection stays open, so to the server it
// looks like a client that has nothing to say.

// plain is a lock taken with bare SQL, on a connection that is set up in no way.
const plain = "plain"

func TestPlainLock_FrozenHolderKeepsItForAsLongAsItLives(t *testing.T) {
	if os.Getenv(guardEnv) != "" {
		holdTwoLocks(t)
		return
	}
	db := newDatabase(t)
	holder := startFreezable(t, db)

	holder.signal(t, syscall.SIGSTOP)

	db.awaitFree(t, export, "the Locker's lock is free after its TTL of 1 s")
	requireHeld(t, db.newLocker(t), plain, "the plain one is not: nobody can lead, though the leader does nothing")
	require.NoError(t, holder.cmd.Process.Kill())
	db.awaitFree(t, plain, "only the end of the process frees it")
}

// The twin: the Locker's session has idle_session_timeout, and pings.
func TestSessionLock_FrozenHolderLosesItAfterTheTTLAndKnowsItWhenItWakes(t *testing.T) {
	if os.Getenv(guardEnv) != "" {
		holdTwoLocks(t)
		return
	}
	db := newDatabase(t)
	holder := startFreezable(t, db)

	holder.signal(t, syscall.SIGSTOP)
	db.awaitFree(t, export, "the server ends a session that has been silent for the TTL, and frees its locks")

	holder.signal(t, syscall.SIGCONT)
	require.Equal(t, "lost", holder.says(t), "the holder wakes up, and is told that it holds nothing")
}

// holdTwoLocks is what the process does that is frozen.
func holdTwoLocks(t *testing.T) {
	cfg, err := pgxpool.ParseConfig(os.Getenv(databaseEnv))
	require.NoError(t, err)
	conn, err := pgx.ConnectConfig(t.Context(), cfg.ConnConfig.Copy())
	require.NoError(t, err)
	defer conn.Close(context.Background()) // and until then it is no garbage, whose socket Go would close
	_, err = conn.Exec(t.Context(), `select pg_advisory_lock($1)`, postgres.LockKey(plain))
	require.NoError(t, err)
	locker, err := postgres.NewLocker(cfg, postgres.LockerConfig{TTL: time.Second})
	require.NoError(t, err)
	lock, err := locker.TryAcquire(t.Context(), export)
	require.NoError(t, err)

	fmt.Println("inside")
	<-lock.Lost()
	fmt.Println("lost")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startFreezable starts a process that holds two locks, in a process group of
// its own: should this process die, the system wakes the frozen one and ends it.
func startFreezable(t *testing.T, db *Database) *instance {
	t.Helper()
	holder := startProcess(t, "two locks", db.Config.ConnString(), func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	})
	require.Equal(t, "inside", holder.says(t))
	return holder
}

func (p *instance) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(signal))
}
