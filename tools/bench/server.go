package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay/postgres"
)

const (
	serverCommand = "github.com/relay-samples/relay-go/internal/pgtest/cmd/pgtest-server"
	envWay        = "RELAY_TEST_POSTGRES"
	dropTimeout   = 10 * time.Second
)

// underServer runs this program again with a throw-away PostgreSQL. pgtest is a
// kit for tests, which programs do not import; its command is for everybody.
func underServer(args []string) error {
	// Ctrl-C reaches the other two as well, and they clean up: stay until then.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "relay-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "pgtest-server")
	if said, err := exec.Command("go", "build", "-o", program, serverCommand).CombinedOutput(); err != nil {
		return fmt.Errorf("building pgtest-server, in a checkout of this repository: %w\n%s", err, said)
	}

	cmd := exec.Command(program, append([]string{"--", self}, args...)...)
	cmd.Env = os.Environ()
	if os.Getenv(envWay) == "" {
		// The goals are for a unix socket, and a container has none.
		cmd.Env = append(cmd.Env, envWay+"=installed")
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM { // sent to us alone
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	return cmd.Wait()
}

// bench is one run.
type bench struct {
	options
	config  *pgxpool.Config // of the run's own database
	server  *pgx.Conn       // to the database that the server came with
	admin   *pgx.Conn       // to the run's own, for looking at what goes on
	factors map[int]float64 // see overPgbench
	lines   []line
}

func newBench(ctx context.Context, url string, opts options) (b *bench, err error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	b = &bench{options: opts, config: cfg, factors: make(map[int]float64)}
	if b.server, err = pgx.ConnectConfig(ctx, cfg.ConnConfig); err != nil {
		return nil, err
	}
	cfg.ConnConfig.Database = "relay_bench_" + strings.ToLower(rand.Text()[:10])
	if _, err := b.server.Exec(ctx, "create database "+cfg.ConnConfig.Database); err != nil {
		return nil, errors.Join(err, b.server.Close(ctx))
	}
	if b.admin, err = pgx.ConnectConfig(ctx, b.named("relay_bench_admin").ConnConfig); err == nil {
		err = postgres.Migrate(ctx, b.admin)
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// close leaves the server as it was, also when ctx has ended.
func (b *bench) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	if b.admin != nil {
		_ = b.admin.Close(ctx)
	}
	_, err := b.server.Exec(ctx, "drop database "+b.config.ConnConfig.Database+" with (force)")
	return errors.Join(err, b.server.Close(ctx))
}

// named returns the config with an application_name, by which the sessions of
// one subject are told apart.
func (b *bench) named(name string) *pgxpool.Config {
	cfg := b.config.Copy()
	cfg.ConnConfig.RuntimeParams["application_name"] = name
	return cfg
}

// sessions opens n dedicated sessions, which closeAll closes.
func (b *bench) sessions(ctx context.Context, name string, n int) (conns []*pgconn.PgConn, closeAll func(), err error) {
	closeAll = func() {
		for _, c := range conns {
			_ = c.Close(context.Background())
		}
	}
	cfg := b.named(name)
	for range n {
		c, err := pgconn.ConnectConfig(ctx, &cfg.ConnConfig.Config)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		conns = append(conns, c)
	}
	return conns, closeAll, nil
}

// session is sessions for one.
func (b *bench) session(ctx context.Context, name string) (*pgconn.PgConn, func(), error) {
	conns, closeAll, err := b.sessions(ctx, name, 1)
	if err != nil {
		return nil, nil, err
	}
	return conns[0], closeAll, nil
}

// pids returns the server processes of the sessions called name.
func (b *bench) pids(ctx context.Context, name string) ([]int, error) {
	rows, err := b.admin.Query(ctx,
		"select pid from pg_stat_activity where datname = current_database() and application_name = $1 order by pid", name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

// awaitGone returns when no session called name is left. The server takes a
// moment to notice that a client has gone.
func (b *bench) awaitGone(ctx context.Context, name string) error {
	for range 1000 {
		if pids, err := b.pids(ctx, name); err != nil || len(pids) == 0 {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("sessions %q do not go away", name)
}

// room is how many more sessions the server takes, a few left to others; want
// when there is that much.
func (b *bench) room(ctx context.Context, want int) (int, error) {
	var free int
	err := b.admin.QueryRow(ctx, `select current_setting('max_connections')::int
		- current_setting('superuser_reserved_connections')::int
		- (select count(*)::int from pg_stat_activity where backend_type = 'client backend')`).Scan(&free)
	if free -= 5; err == nil && free < 1 {
		err = errors.New("the server takes no more sessions")
	}
	return min(want, free), err
}

func (b *bench) wantsAny(goals []int) bool { return slices.ContainsFunc(goals, b.wants) }

// add takes a line of the table, if it was asked for.
func (b *bench) add(l line) {
	if b.wants(l.goal) {
		b.lines = append(b.lines, l)
		fmt.Fprintln(os.Stderr, "bench:", l)
	}
}
