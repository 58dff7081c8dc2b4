//go:build unix

package postgres_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// holderDSN and holderTTL tell a copy of this test binary to be a holder.
const (
	holderDSN = "RELAY_TEST_HOLDER_DSN"
	holderTTL = "RELAY_TEST_HOLDER_TTL"
)

var heldByHolder = []string{"one", "two", "three"}

// TestHolder is the body of a process that holds three locks until its parent
// goes. When it wakes from a freeze it says of each whether it still relies on
// it: of the first by Release at once, before anything may have told it.
func TestHolder(t *testing.T) {
	dsn := os.Getenv(holderDSN)
	if dsn == "" {
		t.Skip("runs only inside of other tests")
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	ttl, err := time.ParseDuration(os.Getenv(holderTTL))
	require.NoError(t, err)
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	locker, err := postgres.NewLocker(cfg, postgres.LockerConfig{TTL: ttl, ApplicationName: "holder"})
	require.NoError(t, err)
	var locks []relay.Lock
	for _, name := range heldByHolder {
		locks = append(locks, take(t, locker, name))
	}
	fmt.Println("says: holds")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	<-woken
	for i, lock := range locks {
		if i > 0 {
			<-lock.Lost()
		}
		err := lock.Release(t.Context())
		fmt.Println("says: lost", lock.Name(), errors.Is(err, relay.ErrLost))
	}
	require.NoError(t, locker.Close(t.Context()))
	fmt.Println("says: closed")
	select {}
}

// holder is a running TestHolder.
type holder struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startHolder(t *testing.T, db *database, ttl time.Duration) *holder {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestHolder$")
	cmd.Env = append(os.Environ(), holderDSN+"="+db.dsn, holderTTL+"="+ttl.String())
	// When this process is killed the group is an orphan, and the system wakes and
	// ends what is frozen in it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe() // it ends with this process
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	h := &holder{cmd: cmd, lines: bufio.NewScanner(stdout)}
	h.await(t, "holds")
	return h
}

// await returns when the holder's next word is that.
func (h *holder) await(t *testing.T, word string) {
	t.Helper()
	var before []string
	for h.lines.Scan() {
		if said, ok := strings.CutPrefix(h.lines.Text(), "says: "); ok {
			require.Equal(t, word, said)
			return
		}
		before = append(before, h.lines.Text())
	}
	require.FailNow(t, "the holder has ended", strings.Join(before, "\n"))
}

// awaitFree returns when the server has freed all that the holder held. The wait
// is in the server's own queue, so that nothing is missed and nothing polled.
func awaitFree(t *testing.T, db *database, takeAway func()) {
	t.Helper()
	tx := db.begin(t, pgx.TxOptions{})
	freed := async(func() error {
		for _, name := range heldByHolder {
			if err := postgres.LockTx(t.Context(), tx, name); err != nil {
				return err
			}
		}
		return nil
	})
	db.awaitBlocked(t)
	takeAway()
	require.NoError(t, <-freed)
	require.NoError(t, tx.Rollback(t.Context()))
}

func TestLocker_TheLocksOfAKilledProcessAreFreeLongBeforeTheirTTL(t *testing.T) {
	db := newDatabase(t)
	h := startHolder(t, db, time.Hour)
	awaitFree(t, db, func() { require.NoError(t, h.cmd.Process.Kill()) })
	db.awaitSessionsNamed(t, "holder", 0)
	require.Zero(t, db.locks(t))
}

func TestLocker_AProcessThatIsFrozenLosesItsLocksAndKnowsItWhenItWakes(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	h := startHolder(t, db, time.Second)
	awaitFree(t, db, func() { require.NoError(t, h.cmd.Process.Signal(syscall.SIGSTOP)) })

	require.NoError(t, h.cmd.Process.Signal(syscall.SIGCONT))
	for _, name := range heldByHolder {
		h.await(t, "lost "+name+" true")
	}
	h.await(t, "closed")
	db.awaitSessionsNamed(t, "holder", 0)
	require.Zero(t, db.locks(t))
}
