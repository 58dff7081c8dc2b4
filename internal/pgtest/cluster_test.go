//go:build unix

package pgtest_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/stretchr/testify/require"
)

// TestChildCluster is the body of a copy that is killed while its server is
// down. It stands for a test of another package.
func TestChildCluster(t *testing.T) {
	mode := os.Getenv(childMode)
	if mode == "" {
		t.Skip("runs only inside of other tests")
	}
	cluster := pgtest.NewCluster(t)
	fmt.Println("dsn:", cluster.DSN())
	if mode == "crash" {
		require.NoError(t, cluster.Crash())
		fmt.Println("crashed: yes")
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func clusterChild(t *testing.T, mode string) *running {
	t.Helper()
	cmd := child(t, mode)
	cmd.Args[1] = "-test.run=^TestChildCluster$"
	return start(t, cmd)
}

func TestCluster_ACrashForgetsWhatWasNotWrittenAndNothingElse(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	cluster := pgtest.NewCluster(t, "wal_writer_delay=10s", "max_connections=12")
	session := open(t, cluster.DSN())
	require.Equal(t, "12", ask[string](t, session, "show max_connections"))
	_, err := session.Exec(t.Context(), "create table t (n int, what text)")
	require.NoError(t, err)
	forgotten := 0
	for n := range 5 { // every 10 s the server writes what there is
		for _, sql := range []string{
			"set synchronous_commit = on",
			"insert into t values ($1, 'written')",
			"set synchronous_commit = off",
			"insert into t values ($1, 'not yet written')",
		} {
			_, err := session.Exec(t.Context(), strings.ReplaceAll(sql, "$1", strconv.Itoa(n)))
			require.NoError(t, err)
		}
		require.NoError(t, cluster.Crash())
		require.Error(t, session.Ping(t.Context()))
		_, err := pgx.Connect(t.Context(), cluster.DSN())
		require.Error(t, err, "the server is down")

		require.NoError(t, cluster.Start(t.Context()))
		session = open(t, cluster.DSN())
		require.Equal(t, 1, ask[int](t, session, "select count(*) from t where n = $1 and what = 'written'", n))
		forgotten += 1 - ask[int](t, session, "select count(*) from t where n = $1 and what <> 'written'", n)
	}
	require.NotZero(t, forgotten)
	require.Equal(t, "12", ask[string](t, session, "show max_connections"), "the settings stay")

	require.NoError(t, cluster.Stop())
	require.NoError(t, cluster.Start(t.Context()))
	require.Equal(t, 5, ask[int](t, open(t, cluster.DSN()), "select count(*) from t where what = 'written'"))
}

func TestCluster_AStandbyFollowsReadOnlyUntilItIsPromoted(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	primary := pgtest.NewCluster(t, "max_connections=12", "synchronous_standby_names=*", "synchronous_commit=remote_apply")
	standby := primary.NewStandby(t)
	writer, reader := open(t, primary.DSN()), open(t, standby.DSN())
	_, err := writer.Exec(t.Context(), "create table t as select 7 as n") // returns once the standby has applied it
	require.NoError(t, err)
	require.Equal(t, 7, ask[int](t, reader, "select n from t"))
	require.True(t, ask[bool](t, reader, "select pg_is_in_recovery()"))
	_, err = reader.Exec(t.Context(), "delete from t")
	require.ErrorContains(t, err, "read-only")

	require.NoError(t, primary.Crash())
	require.NoError(t, standby.Promote(t.Context()))
	_, err = reader.Exec(t.Context(), "set synchronous_commit = local; delete from t")
	require.NoError(t, err)
}

func TestCluster_NothingIsLeftWhenTheTestBinaryIsKilled(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	for _, mode := range []string{"run", "crash"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			process := clusterChild(t, mode)
			dir := clusterDir(t, process.line(t, "dsn: "))
			if mode == "crash" {
				process.line(t, "crashed: ")
				require.NoFileExists(t, filepath.Join(dir, "data", "postmaster.pid"))
				require.NoError(t, process.cmd.Process.Kill())
				requireNoDir(t, dir)
				return
			}
			pid := postmaster(t, dir)
			require.NoError(t, process.cmd.Process.Kill())
			requireGone(t, dir, pid)
		})
	}
}

func TestCluster_CloseReturnsWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	cluster, err := pgtest.StartCluster(t.Context())
	require.NoError(t, err)
	dir := clusterDir(t, cluster.DSN())
	pid := postmaster(t, dir)
	require.NoError(t, cluster.Close())
	require.NoDirExists(t, dir)
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestCluster_SaysWhyTheServerDoesNotStart(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	_, err := pgtest.StartCluster(t.Context(), "max_connections=many")
	require.ErrorContains(t, err, "postgres ended")
	require.ErrorContains(t, err, "max_connections")
}
