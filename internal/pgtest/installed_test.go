//go:build unix

package pgtest_test

import (
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const forceInstalled = pgtest.EnvWay + "=installed"

func itoa(port uint16) string { return strconv.Itoa(int(port)) }

// needInstalled returns a directory of PostgreSQL's programs, or skips a test
// about the installed way where it cannot work.
func needInstalled(t *testing.T) (bin string) {
	t.Helper()
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for _, dir := range append(dirs, filepath.SplitList(os.Getenv("PATH"))...) {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	t.Skip("PostgreSQL's programs are not installed")
	return ""
}

// requireNoDir awaits that a cluster's directory is gone.
func requireNoDir(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	}, 2*time.Minute, 5*time.Millisecond, "%s was left behind", dir)
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
	requireNoDir(t, dir)
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
			requireNoDir(t, dir)
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

// halting makes programs of which one, where it says "halt", tells its
// directory and waits to be told to go on. It returns the way to find them.
func halting(t *testing.T, initdb, postgres string) (env string, halted func() (dir string), goOn func()) {
	t.Helper()
	fake := openDir(t)
	fifo := filepath.Join(fake, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o666))
	require.NoError(t, os.Chmod(fifo, 0o666))
	halt := `halt() { for a; do case $a in --pgdata=*|/*/data) echo "${a#--pgdata=}";; esac; done >"` + fifo + `"; read -r _ <"` + fifo + `"; }` + "\n"
	program(t, filepath.Join(fake, "pg_config"), `echo "`+fake+`"`)
	program(t, filepath.Join(fake, "initdb"), halt+initdb)
	program(t, filepath.Join(fake, "postgres"), halt+postgres)
	halted = func() string {
		said, err := os.ReadFile(fifo) // waits for the writer
		require.NoError(t, err)
		dir := filepath.Dir(strings.TrimSpace(string(said)))
		require.DirExists(t, dir)
		return dir
	}
	goOn = func() { require.NoError(t, os.WriteFile(fifo, []byte("go on\n"), 0)) }
	return "PATH=" + fake + ":" + os.Getenv("PATH"), halted, goOn
}

func TestInstalled_NothingIsLeftWhenKilledWhileItStarts(t *testing.T) {
	t.Parallel()
	bin := needInstalled(t)
	initdb, postgres := `"`+bin+`/initdb" "$@"`, `exec "`+bin+`/postgres" "$@"`
	for at, programs := range map[string][2]string{
		"initdb that fails":         {`halt "$@"; exit 1`, "exit 1"},
		"the beginning of initdb":   {`halt "$@"; ` + initdb, postgres},
		"the end of initdb":         {initdb + ` && halt "$@"`, postgres},
		"the beginning of postgres": {initdb, `halt "$@"; ` + postgres},
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			env, halted, goOn := halting(t, programs[0], programs[1])
			cmd := child(t, "end", forceInstalled, env)
			tree := treeOf(t, cmd)
			process := start(t, cmd)
			dir := halted()
			require.NoError(t, process.cmd.Process.Kill())
			_ = process.cmd.Wait()

			// By now the guard has sent its first signal, which nobody hears.
			time.Sleep(300 * time.Millisecond)
			goOn()
			tree.gone()
			require.NoDirExists(t, dir)
		})
	}
}

func TestInstalled_NothingIsLeftWhenKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	server := serverCommand(t)
	if os.Geteuid() == 0 {
		server = ordinaryCopy(t, server)
	}
	tmp := openDir(t)
	require.NoError(t, os.Chmod(tmp, 0o777))

	const rounds = 10 // at once
	var done sync.WaitGroup
	for i := range rounds {
		cmd := child(t, "stay", forceInstalled)
		asOrdinaryUser(t, cmd, tmp)
		if i%2 == 1 {
			cmd.Path, cmd.Args = server, []string{server}
		}
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		defer stdin.Close()
		tree := treeOf(t, cmd)
		require.NoError(t, cmd.Start())
		moment := time.Duration(i)*400*time.Millisecond + rand.N(400*time.Millisecond)
		done.Go(func() {
			time.Sleep(moment)
			assert.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			if !tree.gone() {
				t.Logf("killed after %v", moment)
			}
		})
	}
	done.Wait()
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	require.NoError(t, err)
	require.Empty(t, left, "files were left behind")
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

func TestInstalled_WorksAsAnOrdinaryUserWhateverTheTemporaryDirectoryIsCalled(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	base := openDir(t)
	pad := func(length int) string { return strings.Repeat("x", length-len(base)-1) }
	for name, usable := range map[string]bool{
		"plain":          true,
		"a space+a plus": true,
		pad(70):          true,
		pad(71):          false,
		pad(80):          false, // too long for some systems' sockets
		pad(200):         false,
		"a,comma":        false,
		`a"quote`:        false,
	} {
		t.Run(strconv.Itoa(len(base)+1+len(name))+" bytes "+name[:1], func(t *testing.T) {
			t.Parallel()
			tmp := filepath.Join(base, name)
			require.NoError(t, os.Mkdir(tmp, 0o777))
			require.NoError(t, os.Chmod(tmp, 0o777))
			cmd := child(t, "end", forceInstalled)
			asOrdinaryUser(t, cmd, tmp)
			said, err := output(t, cmd)
			require.NoError(t, err, said)
			require.Contains(t, said, "--- PASS: TestChild")
			if !usable {
				tmp = "/tmp"
			}
			require.Regexp(t, "using installed: .* in "+regexp.QuoteMeta(tmp)+"/pgtest-[a-z0-9]+\n", said)
		})
	}
}

func TestInstalled_SaysThatItCannotMakeItsDirectory(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	cmd := child(t, "end", forceInstalled)
	asOrdinaryUser(t, cmd, "/nonexistent")
	said, err := output(t, cmd)
	require.NoError(t, err, said)
	require.Contains(t, said, "--- SKIP: TestChild")
	require.Regexp(t, "installed: mkdir: .*/nonexistent", said)
}

func TestInstalled_DoesNotWaitForAServerThatRefusesForGood(t *testing.T) {
	t.Parallel()
	bin := needInstalled(t)
	fake := openDir(t)
	program(t, filepath.Join(fake, "pg_config"), `echo "`+fake+`"`)
	program(t, filepath.Join(fake, "initdb"), `exec "`+bin+`/initdb" "$@" --username=somebody`)
	program(t, filepath.Join(fake, "postgres"), `exec "`+bin+`/postgres" "$@"`)

	said, err := output(t, child(t, "end", forceInstalled, "PATH="+fake+":"+os.Getenv("PATH")))
	require.NoError(t, err, said)
	require.Contains(t, said, "--- SKIP: TestChild")
	require.Contains(t, said, `the cluster is of no use`)
	require.Contains(t, said, `role "postgres" does not exist`)
}
