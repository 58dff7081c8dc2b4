//go:build unix

package pgtest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed installed.sh
var clusterScript string

// clusterTimeout bounds the start of a cluster on a busy machine.
const clusterTimeout = 90 * time.Second

func startInstalled(ctx context.Context, _ options) (*Server, error) {
	bin, err := findPrograms(ctx)
	if err != nil {
		return nil, err
	}
	cred, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir := workDir(cred)
	c, err := startCluster(bin, dir, cred)
	if err != nil {
		return nil, err
	}
	dsn := (&url.URL{
		Scheme: "postgres",
		Path:   "/postgres",
		RawQuery: encodeQuery(url.Values{
			"host": {dir}, "port": {"5432"}, "user": {"postgres"}, "sslmode": {"disable"},
		}),
	}).String()
	if err := c.awaitReady(ctx, dsn); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return &Server{URL: dsn, Why: bin + " in " + dir, stop: c.stop}, nil
}

// cluster is a running installed.sh.
type cluster struct {
	cmd    *exec.Cmd
	alive  *os.File // closing it stops the cluster
	status *os.File // ends when nothing of the cluster is left
}

func startCluster(bin, dir string, cred *syscall.Credential) (*cluster, error) {
	aliveIn, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer aliveIn.Close()
	status, statusIn, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, alive.Close())
	}
	defer statusIn.Close()

	cmd := exec.Command("/bin/sh", "-c", clusterScript, "pgtest", bin, dir)
	cmd.Dir = "/"
	cmd.Env = cleanEnv(os.Environ())
	cmd.Stdout = statusIn
	cmd.ExtraFiles = []*os.File{aliveIn}
	// A session of its own: Ctrl-C in the terminal must not reach the guard.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: cred}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, alive.Close(), status.Close())
	}
	return &cluster{cmd: cmd, alive: alive, status: status}, nil
}

// awaitReady returns when the server takes a session or refuses it for good, or
// with what the script said when it ended first.
func (c *cluster) awaitReady(ctx context.Context, dsn string) error {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	ended := make(chan string, 1)
	go func() {
		said, err := io.ReadAll(c.status)
		if err == nil {
			ended <- strings.TrimSpace(string(said))
		}
		close(ended)
	}()
	defer func() {
		_ = c.status.SetReadDeadline(time.Now())
		<-ended
		_ = c.status.SetReadDeadline(time.Time{})
	}()
	for {
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err == nil {
			return conn.Close(ctx)
		}
		var refused *pgconn.PgError
		if errors.As(err, &refused) && !startingUp(err) {
			return fmt.Errorf("the cluster is of no use: %w", err)
		}
		select {
		case said := <-ended:
			return errors.New(said)
		case <-ctx.Done():
			return fmt.Errorf("the cluster did not start: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop ends the cluster and returns when its processes and files are gone.
func (c *cluster) stop() error {
	err := c.alive.Close()
	_ = c.status.SetReadDeadline(time.Now().Add(clusterTimeout))
	if _, readErr := io.Copy(io.Discard, c.status); readErr != nil {
		return errors.Join(err, fmt.Errorf("the cluster did not stop: %w", readErr))
	}
	_ = c.cmd.Wait() // the script ends with 1 whenever postgres has ended
	return errors.Join(err, c.status.Close())
}

// findPrograms returns the directory of initdb and postgres, newest first.
func findPrograms(ctx context.Context) (string, error) {
	var dirs []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	dirs = append(dirs, versionDirs("/usr/lib/postgresql")...)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if isProgram(filepath.Join(dir, "initdb")) && isProgram(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errors.New("no initdb and postgres in pg_config --bindir, /usr/lib/postgresql/*/bin or PATH")
}

func versionDirs(root string) []string {
	dirs, _ := filepath.Glob(filepath.Join(root, "*", "bin"))
	version := func(dir string) float64 {
		v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(dir)), 64)
		return v
	}
	slices.SortFunc(dirs, func(a, b string) int { return int(10 * (version(b) - version(a))) })
	return dirs
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
