//go:build unix

package postgres_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// pgbouncer starts a PgBouncer in front of the database and returns how to
// connect through it. Without an installed one the test is skipped, or fails
// where RELAY_REQUIRE_PGBOUNCER=1 says that there has to be one.
func (d *database) pgbouncer(t testing.TB, mode string) *pgxpool.Config {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // where Debian puts it, off an ordinary user's PATH
		if _, err := os.Stat(program); err != nil {
			const missing = "PgBouncer is not installed (apt-get install pgbouncer)"
			require.NotEqual(t, "1", os.Getenv("RELAY_REQUIRE_PGBOUNCER"), missing)
			t.Skip(missing)
		}
	}
	dir, err := os.MkdirTemp("", "pgb") // short: the path of a unix socket has 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777)) // PgBouncer may run as another user

	server := d.config(t).ConnConfig
	password := ""
	if server.Password != "" {
		password = fmt.Sprintf(" password='%s'", strings.ReplaceAll(server.Password, "'", "''"))
	}
	ini := fmt.Sprintf("[databases]\n%s = host=%s port=%d user=%s%s\n"+
		"[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = %s\nauth_type = any\n"+
		"pool_mode = %s\ndefault_pool_size = 5\n",
		server.Database, server.Host, server.Port, server.User, password, dir, mode)
	file := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(file, []byte(ini), 0o644))

	cmd := exec.Command(program, file)
	if os.Getuid() == 0 { // which PgBouncer refuses to run as
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: socketOwner(t, server.Host)}
	}
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var lines []string
	up := false
	for scanner := bufio.NewScanner(log); !up && scanner.Scan(); {
		lines = append(lines, scanner.Text())
		up = strings.Contains(scanner.Text(), "process up")
	}
	require.True(t, up, "PgBouncer did not start:\n%s", strings.Join(lines, "\n"))
	go func() { _, _ = io.Copy(io.Discard, log) }() // else it would block on a full pipe

	cfg, err := pgxpool.ParseConfig(fmt.Sprintf("host=%s port=6432 user=%s dbname=%s sslmode=disable",
		dir, server.User, server.Database))
	require.NoError(t, err)
	return cfg
}

// socketOwner is who may enter the directory of the server's socket, or nobody
// in particular.
func socketOwner(t testing.TB, host string) *syscall.Credential {
	t.Helper()
	const nobody = 65534
	owner := &syscall.Credential{Uid: nobody, Gid: nobody}
	if filepath.IsAbs(host) {
		info, err := os.Stat(host)
		require.NoError(t, err)
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 0 {
			owner.Uid, owner.Gid = stat.Uid, stat.Gid
		}
	}
	return owner
}

func TestLocker_APoolerThatSharesSessionsIsRefused(t *testing.T) {
	db := newDatabase(t)
	cfg := db.pgbouncer(t, "transaction")
	locker := newLocker(t, cfg, postgres.LockerConfig{})
	for range 3 { // an idle pooler gives the same session every time
		lock, err := locker.TryAcquire(t.Context(), "job")
		require.Nil(t, lock)
		require.ErrorIs(t, err, postgres.ErrPooled)
		require.ErrorContains(t, err, "AllowProxy", "the error names the mend")
		require.NotErrorIs(t, err, relay.ErrNotAcquired)
	}
	require.Zero(t, db.locks(t))

	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	var set string // PgBouncer itself carries application_name from session to session
	require.NoError(t, pool.QueryRow(t.Context(), `select coalesce(string_agg(name, ', '), '') from pg_settings
		where source = 'session' and name <> 'application_name'`).Scan(&set))
	require.Empty(t, set, "nothing was set on a session that somebody else uses next")
}

func TestLocker_AProxyThatPoolsBySessionIsAdmittedOnRequest(t *testing.T) {
	db := newDatabase(t)
	cfg := db.pgbouncer(t, "session")
	_, err := newLocker(t, cfg, postgres.LockerConfig{}).TryAcquire(t.Context(), "job")
	require.ErrorIs(t, err, postgres.ErrPooled, "it can't be told from one that pools by transaction")

	locker := newLocker(t, cfg, postgres.LockerConfig{AllowProxy: true})
	direct := db.locker(t, postgres.LockerConfig{RetryInterval: 20 * time.Millisecond})
	lock := take(t, locker, "job")
	_, err = direct.TryAcquire(t.Context(), "job")
	require.ErrorIs(t, err, relay.ErrNotAcquired)
	require.NoError(t, lock.Release(t.Context()))
	take(t, direct, "job")

	lost := take(t, locker, "another job")
	db.terminate(t, db.holder(t, "another job"))
	<-lost.Lost()
}

func TestLeaseStore_WorksThroughAPoolerInTransactionMode(t *testing.T) {
	db := newMigratedDatabase(t)
	cfg := db.pgbouncer(t, "transaction")
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	for want := range relay.Token(5) {
		lease, err := store.TryAcquireOrRenew(t.Context(), "role", "owner", time.Minute)
		require.NoError(t, err)
		require.Equal(t, want+1, lease.Token)
		_, err = store.TryAcquireOrRenew(t.Context(), "role", "another", time.Minute)
		require.ErrorIs(t, err, relay.ErrNotAcquired)
		require.NoError(t, store.Release(t.Context(), lease))
	}
	registry, err := postgres.NewNodeRegistry(cfg, "group", 0, postgres.NodeRegistryConfig{})
	require.NoError(t, err)
	require.NoError(t, registry.Heartbeat(t.Context(), "node"))
	nodes, err := registry.LiveNodes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"node"}, nodes)
	require.NoError(t, registry.Close(t.Context()))

	pool, err := pgxpool.NewWithConfig(t.Context(), cfg) // pgx prepares by default
	require.NoError(t, err)
	defer pool.Close()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, postgres.AdmitTx(t.Context(), tx, "resource", 1))
	got, err := postgres.TryLockTx(t.Context(), tx, "job")
	require.NoError(t, err)
	require.True(t, got)
	require.NoError(t, tx.Commit(t.Context()))
}
