//go:build unix

package pgtest_test

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/stretchr/testify/require"
)

const forceInstalled = pgtest.EnvWay + "=installed"

func itoa(port uint16) string { return strconv.Itoa(int(port)) }

// needInstalled skips a test about the installed way where it cannot work.
func needInstalled(t *testing.T) {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			found = append(found, dir)
		}
	}
	if len(found) == 0 {
		t.Skip("PostgreSQL's programs are not installed")
	}
}

func clusterDir(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	return u.Query().Get("host")
}

// postmaster returns the process id of a cluster's server.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(file), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	return pid
}

// requireGone awaits that nothing is left of a cluster. The files go last.
func requireGone(t *testing.T, dir string, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	}, time.Minute, 5*time.Millisecond, "%s was left behind", dir)
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "postgres was left behind")
}

func TestInstalled_NothingIsLeftWhenTheTestBinaryEnds(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	for _, mode := range []string{"end", "panic", "exit"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			process := start(t, child(t, mode, forceInstalled))
			dir := clusterDir(t, process.line(t, "dsn: "))
			_ = process.cmd.Wait()
			require.Eventually(t, func() bool {
				_, err := os.Stat(dir)
				return os.IsNotExist(err)
			}, time.Minute, 5*time.Millisecond, "%s was left behind", dir)
		})
	}
}

func TestInstalled_NothingIsLeftAfterKill9(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	process := start(t, child(t, "wait", forceInstalled))
	dsn := process.line(t, "dsn: ")
	dir := clusterDir(t, dsn)
	pid := postmaster(t, dir)
	grandchild, err := strconv.Atoi(process.line(t, "grandchild: "))
	require.NoError(t, err)
	defer func() { _ = syscall.Kill(grandchild, syscall.SIGKILL) }()
	session := open(t, dsn)

	require.NoError(t, process.cmd.Process.Kill())
	require.NoError(t, session.PgConn().Conn().SetReadDeadline(time.Now().Add(time.Minute)))
	_, _ = io.Copy(io.Discard, session.PgConn().Conn()) // until the server ends the session
	requireGone(t, dir, pid)
	require.NoError(t, syscall.Kill(grandchild, 0), "a process the test had started lives, and does not hold the server")
}

func TestInstalled_NothingIsLeftWhenKilledDuringInitdb(t *testing.T) {
	t.Parallel()
	fake := openDir(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(fake, "in"), 0o666))
	require.NoError(t, os.Chmod(filepath.Join(fake, "in"), 0o666))
	program(t, filepath.Join(fake, "pg_config"), `echo "`+fake+`"`)
	// It tells its directory, and then fails once told to go on.
	program(t, filepath.Join(fake, "initdb"), `echo "$1" >"`+fake+`/in"; read -r _ <"`+fake+`/in"; exit 1`)
	program(t, filepath.Join(fake, "postgres"), "exit 1")

	process := start(t, child(t, "end", forceInstalled, "PATH="+fake+":"+os.Getenv("PATH")))
	said, err := os.ReadFile(filepath.Join(fake, "in")) // waits for the writer
	require.NoError(t, err)
	dir := filepath.Dir(strings.TrimPrefix(strings.TrimSpace(string(said)), "--pgdata="))
	require.DirExists(t, dir)
	require.NoError(t, process.cmd.Process.Kill())
	_ = process.cmd.Wait()

	require.NoError(t, os.WriteFile(filepath.Join(fake, "in"), []byte("go on\n"), 0))
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	}, time.Minute, 5*time.Millisecond, "%s was left behind", dir)
}

func TestInstalled_SaysWhatInitdbSaid(t *testing.T) {
	t.Parallel()
	fake := openDir(t)
	program(t, filepath.Join(fake, "pg_config"), `echo "`+fake+`"`)
	program(t, filepath.Join(fake, "initdb"), "echo the disk is full; exit 1")
	program(t, filepath.Join(fake, "postgres"), "exit 1")

	said, err := output(t, child(t, "end", forceInstalled, "PATH="+fake+":"+os.Getenv("PATH")))
	require.NoError(t, err, said)
	require.Contains(t, said, "--- SKIP: TestChild")
	require.Contains(t, said, "initdb failed")
	require.Contains(t, said, "the disk is full")
}

func TestInstalled_SaysWhyPostgresEnded(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	fake := openDir(t)
	program(t, filepath.Join(fake, "pg_config"), `echo "`+fake+`"`)
	program(t, filepath.Join(fake, "initdb"), "exit 0")
	program(t, filepath.Join(fake, "postgres"), "echo no memory is left; exit 1")

	said, err := output(t, child(t, "end", forceInstalled, "PATH="+fake+":"+os.Getenv("PATH")))
	require.NoError(t, err, said)
	require.Contains(t, said, "postgres ended")
	require.Contains(t, said, "no memory is left")
}

func TestInstalled_CloseReturnsWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	srv, err := pgtest.Start(t.Context(), pgtest.Config{Way: "installed"})
	require.NoError(t, err)
	dir := clusterDir(t, srv.URL)
	pid := postmaster(t, dir)

	require.NoError(t, srv.Close())
	require.NoDirExists(t, dir)
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestInstalled_NobodyElseMayEnter(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	srv, err := pgtest.Start(t.Context(), pgtest.Config{Way: "installed"})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	info, err := os.Stat(clusterDir(t, srv.URL))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.Empty(t, ask[string](t, open(t, srv.URL), "show listen_addresses"))
}

func TestInstalled_WorksAsAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	if os.Geteuid() != 0 {
		t.Skip("every other test shows it: they run as an ordinary user")
	}
	dir := openDir(t)
	copied := filepath.Join(dir, "pgtest.test")
	self, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(copied, binary, 0o755))

	const nobody = 65534
	require.NoError(t, os.Chmod(dir, 0o777))
	cmd := child(t, "end", forceInstalled, "HOME=/nonexistent", "TMPDIR="+dir)
	cmd.Path, cmd.Dir = copied, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	said, err := output(t, cmd)
	require.NoError(t, err, said)
	require.Contains(t, said, "using installed: ")
	require.Contains(t, said, "--- PASS: TestChild")
}
