//go:build unix

package pgtest_test

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/stretchr/testify/require"
)

// uselessEngine is a Docker engine that neither has the image nor gets it.
func uselessEngine(t *testing.T) (dockerHost string) {
	t.Helper()
	return fakeEngine(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}).host
}

func TestStart_TheNamedServerComesFirst(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	said, err := output(t, child(t, "end", pgtest.EnvURL+"="+dsn))
	require.NoError(t, err, said)
	require.Contains(t, said, "pgtest: using url: the server of "+pgtest.EnvURL)
	require.NoError(t, open(t, dsn).Ping(t.Context()), "a server that the user named goes on")
}

func TestStart_TheNamedServerMayBeNamedByKeywords(t *testing.T) {
	t.Parallel()
	cfg, err := pgx.ParseConfig(pgtest.DSN(t))
	require.NoError(t, err)
	keywords := "host=" + cfg.Host + " port=" + itoa(cfg.Port) + " user=" + cfg.User + " password='" + cfg.Password +
		"' dbname=" + cfg.Database + " sslmode=disable"
	said, err := output(t, child(t, "end", pgtest.EnvURL+"="+keywords))
	require.NoError(t, err, said)
	require.Contains(t, said, "--- PASS: TestChild")
}

func TestStart_TheNamedServersParametersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgtest.DSN(t))
	require.NoError(t, err)
	u.RawQuery += "&options=-c%20geqo%3Doff%20-c%20application_name%3Da+b&dbname=" + strings.Trim(u.Path, "/")
	process := start(t, child(t, "stay", pgtest.EnvURL+"="+u.String()))
	session := open(t, process.line(t, "dsn: "))
	require.Equal(t, "off", ask[string](t, session, "show geqo"))
	require.Equal(t, "a+b", ask[string](t, session, "show application_name"))
	require.NotEqual(t, strings.Trim(u.Path, "/"), ask[string](t, session, "select current_database()"))
	require.NoError(t, process.stdin.Close())
	require.NoError(t, process.cmd.Wait())
}

func TestStart_GoesOnToTheNextWayAndSaysWhy(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	said, err := output(t, child(t, "end", uselessEngine(t), pgtest.EnvURL+"=postgres://u:topsecret@127.0.0.1:1/x"))
	require.NoError(t, err, said)
	require.Contains(t, said, "using installed: ")
	require.Contains(t, said, "cannot be pulled")
	require.Contains(t, said, "not url: the server of "+pgtest.EnvURL)
	require.Contains(t, said, "not container: image")
	require.NotContains(t, said, "topsecret")
}

func TestStart_AForcedWayIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	dockerHost := uselessEngine(t)
	for way, reason := range map[string]string{
		"url":       pgtest.EnvURL + " is not set",
		"container": "image",
	} {
		said, err := output(t, child(t, "end", dockerHost, pgtest.EnvWay+"="+way))
		require.NoError(t, err, said)
		require.Contains(t, said, "--- SKIP: TestChild")
		require.Contains(t, said, way+": "+reason)
	}
}

func TestStart_AnUnknownForcedWayIsAFailure(t *testing.T) {
	t.Parallel()
	said, err := output(t, child(t, "end", pgtest.EnvWay+"=docker"))
	require.Error(t, err, said)
	require.Contains(t, said, `RELAY_TEST_POSTGRES="docker" is none of url, container, installed`)
}

func TestDSN_WithoutAServerNamesAllThreeWays(t *testing.T) {
	t.Parallel()
	said, err := output(t, child(t, "end", pgtest.EnvWay+"=url"))
	require.NoError(t, err, said)
	require.Contains(t, said, "--- SKIP: TestChild")
	for _, advice := range []string{pgtest.EnvURL, "Docker engine", pgtest.EnvImage, "install the PostgreSQL server programs"} {
		require.Contains(t, said, advice)
	}
}

func TestDSN_WithoutAServerFailsWhereOneIsRequired(t *testing.T) {
	t.Parallel()
	said, err := output(t, child(t, "end", pgtest.EnvWay+"=url", pgtest.EnvRequire+"=1"))
	require.Error(t, err, said)
	require.Contains(t, said, "--- FAIL: TestChild")
	require.Contains(t, said, "RELAY_REQUIRE_POSTGRES=1: that is a failure")
}

func serverCommand(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pgtest-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, "./cmd/pgtest-server")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	return path
}

func TestServerCommand_PassesOneServerOnAndStopsIt(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	bin := serverCommand(t)

	cmd := child(t, "", pgtest.EnvWay+"=installed")
	cmd.Path = bin
	cmd.Args = []string{bin, "--", "sh", "-c", `echo "dsn: $RELAY_TEST_DATABASE_URL"; echo "way: $RELAY_TEST_POSTGRES."; read -r _; exit 7`}
	server := start(t, cmd)
	dsn := server.line(t, "dsn: ")
	require.Equal(t, ".", server.line(t, "way: "), "the tests must be free to use the server")
	require.NoError(t, open(t, dsn).Ping(t.Context()))

	require.NoError(t, server.stdin.Close())
	var ended *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &ended)
	require.Equal(t, 7, ended.ExitCode(), "the command's verdict is ours")
	require.NoDirExists(t, clusterDir(t, dsn), "the server goes before the command returns")
}

func TestServerCommand_InstallsAServerWhenThereIsNone(t *testing.T) {
	t.Parallel()
	bin := serverCommand(t)
	fake := openDir(t)
	install := filepath.Join(fake, "install")
	program(t, install, "echo installing; exit 5")
	program(t, filepath.Join(fake, "pg_config"), `echo "`+fake+`"`)
	program(t, filepath.Join(fake, "initdb"), "exit 1")
	program(t, filepath.Join(fake, "postgres"), "exit 1")
	for way, times := range map[string]int{"installed": 1, "url": 0} {
		cmd := child(t, "", pgtest.EnvWay+"="+way, "PATH="+fake+":"+os.Getenv("PATH"))
		cmd.Path = bin
		cmd.Args = []string{bin, "-install", install, "--", "true"}
		said, err := output(t, cmd)
		require.Error(t, err, said)
		require.Equal(t, times, strings.Count(said, "installing"), said)
		require.Contains(t, said, "no PostgreSQL for this test")
	}
}

func TestServerCommand_IsInterruptedWhileTheServerStarts(t *testing.T) {
	t.Parallel()
	programs := needInstalled(t)
	bin := serverCommand(t)
	env, halted, goOn := halting(t, `halt "$@"; exec "`+programs+`/initdb" "$@"`, `exec "`+programs+`/postgres" "$@"`)
	cmd := child(t, "", forceInstalled, env)
	cmd.Path, cmd.Args = bin, []string{bin, "--", "echo", "the command ran"}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	dir := halted()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	goOn()
	require.Error(t, cmd.Wait(), said.String())
	require.NotContains(t, said.String(), "the command ran")
	require.Contains(t, said.String(), "pgtest-server: interrupt")
	require.NoDirExists(t, dir)
}

func TestServerCommand_WithoutACommandServesUntilInterrupted(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	bin := serverCommand(t)
	cmd := child(t, "", pgtest.EnvWay+"=installed")
	cmd.Path, cmd.Args = bin, []string{bin}
	server := start(t, cmd)
	dsn := strings.Trim(server.line(t, "export DATABASE_URL="), "'")
	require.NoError(t, open(t, dsn).Ping(t.Context()))

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
	require.NoDirExists(t, clusterDir(t, dsn))
}
