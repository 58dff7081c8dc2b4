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
	c, err := startCluster(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	return &Server{URL: c.dsn, Why: c.bin + " in " + c.dir, stop: c.stop}, nil
}

// cluster is a running installed.sh.
type cluster struct {
	bin, dir, dsn string

	cmd    *exec.Cmd
	alive  *os.File // closing it stops the cluster
	status *os.File // ends when nothing of the cluster is left
	said   string   // what has come from status, up to the last "ended"
}

// startCluster returns when the server takes sessions. primary is the directory
// of the cluster to follow, empty for one that follows nobody; settings are
// like "fsync=off".
func startCluster(ctx context.Context, primary string, settings []string) (*cluster, error) {
	bin, err := findPrograms(ctx)
	if err != nil {
		return nil, err
	}
	cred, err := unprivileged()
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: bin, dir: workDir(cred)}
	c.dsn = (&url.URL{
		Scheme: "postgres",
		Path:   "/postgres",
		RawQuery: encodeQuery(url.Values{
			"host": {c.dir}, "port": {"5432"}, "user": {"postgres"}, "sslmode": {"disable"},
		}),
	}).String()
	if err := c.runScript(cred, primary, settings); err != nil {
		return nil, err
	}
	if err := c.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *cluster) runScript(cred *syscall.Credential, primary string, settings []string) error {
	aliveIn, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer aliveIn.Close()
	status, statusIn, err := os.Pipe()
	if err != nil {
		return errors.Join(err, alive.Close())
	}
	defer statusIn.Close()

	args := append([]string{"-c", clusterScript, "pgtest", c.bin, c.dir, primary}, settings...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Dir = "/"
	cmd.Env = cleanEnv(os.Environ())
	cmd.Stdout = statusIn
	cmd.ExtraFiles = []*os.File{aliveIn}
	// A session of its own: Ctrl-C in the terminal must not reach the guard.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: cred}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, alive.Close(), status.Close())
	}
	c.cmd, c.alive, c.status = cmd, alive, status
	return nil
}

// awaitReady returns when the server takes a session or refuses it for good, or
// with what the script said when the server ended first.
func (c *cluster) awaitReady(ctx context.Context) error {
	cfg, err := pgx.ParseConfig(c.dsn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	ended := make(chan string, 1)
	go func() {
		if said, err := c.untilEnded(); err == nil {
			ended <- said
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

// untilEnded returns what the script says before the server, or it itself, ends.
func (c *cluster) untilEnded() (string, error) {
	const end = "\nended\n"
	buf := make([]byte, 4096)
	for {
		n, err := c.status.Read(buf)
		c.said += string(buf[:n])
		if before, ended := strings.CutSuffix(c.said, end); ended || err == io.EOF {
			c.said = ""
			return strings.TrimSpace(before), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// signal sends the server the signal of that name, and returns when it has
// ended.
func (c *cluster) signal(name string) error {
	if _, err := fmt.Fprintln(c.alive, name); err != nil {
		return err
	}
	_ = c.status.SetReadDeadline(time.Now().Add(clusterTimeout))
	defer func() { _ = c.status.SetReadDeadline(time.Time{}) }()
	if _, err := c.untilEnded(); err != nil {
		return fmt.Errorf("the server did not end after SIG%s: %w", name, err)
	}
	return nil
}

// restart starts a server that has ended, and returns when it takes sessions.
func (c *cluster) restart(ctx context.Context) error {
	if _, err := fmt.Fprintln(c.alive, "start"); err != nil {
		return err
	}
	return c.awaitReady(ctx)
}

// stop ends the cluster and returns when its processes and files are gone.
func (c *cluster) stop() error {
	err := c.alive.Close()
	_ = c.status.SetReadDeadline(time.Now().Add(clusterTimeout))
	if _, readErr := io.Copy(io.Discard, c.status); readErr != nil {
		return errors.Join(err, fmt.Errorf("the cluster did not stop: %w", readErr))
	}
	_ = c.cmd.Wait() // the script ends with 1, whatever ended it
	return errors.Join(err, c.status.Close())
}

var errNoPrograms = errors.New("no initdb and postgres in pg_config --bindir, /usr/lib/postgresql/*/bin or PATH")

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
	return "", errNoPrograms
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
