//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Cluster is a PostgreSQL server of a test's own, which it may crash and start
// again. It takes PostgreSQL's programs, whatever way DSN goes.
//
// Crash ends every process of the server at once, and what was only in their
// memory is gone: a commit that was not yet written, with
// synchronous_commit=off, among it. What was written is in the page cache and
// survives, since the machine lives on. So fsync is off, which makes start and
// crash several times as fast, and nothing here shows whether fsync works.
//
// Its methods are for one goroutine at a time.
type Cluster struct {
	run      *cluster
	settings []string
}

// NewCluster starts a Cluster for a test and removes it when the test ends.
// Settings are like "max_connections=12"; they override those that a Cluster has
// by itself, max_connections=200 and fsync=off. Without the programs the test is
// skipped, or fails under RELAY_REQUIRE_SERVER_PROGRAMS=1.
func NewCluster(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c, err := StartCluster(t.Context(), settings...)
	return forTest(t, c, err)
}

// StartCluster is NewCluster for a program, which has to Close it. It ends with
// the program in any case.
func StartCluster(ctx context.Context, settings ...string) (*Cluster, error) {
	return newCluster(ctx, "", settings)
}

// NewStandby starts a hot standby that streams from c, with the settings of c
// and more, and removes it when the test ends. Remove c no sooner: make it in
// the same test.
func (c *Cluster) NewStandby(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	standby, err := newCluster(t.Context(), c.run.dir, append(slices.Clone(c.settings), settings...))
	return forTest(t, standby, err)
}

func newCluster(ctx context.Context, primary string, settings []string) (*Cluster, error) {
	run, err := startCluster(ctx, primary, append([]string{"fsync=off"}, settings...))
	if err != nil {
		return nil, fmt.Errorf("pgtest: a cluster: %w", err)
	}
	return &Cluster{run: run, settings: settings}, nil
}

func forTest(t testing.TB, c *Cluster, err error) *Cluster {
	t.Helper()
	if errors.Is(err, errNoPrograms) {
		giveUp(t, EnvRequirePrograms,
			err.Error()+": this test needs a server of its own; install the PostgreSQL server programs (apt-get install postgresql)")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("pgtest: close a cluster: %v", err)
		}
	})
	return c
}

// DSN is the URL of the cluster's first database, for a superuser. It stays the
// same over Crash and Start.
func (c *Cluster) DSN() string { return c.run.dsn }

// Crash ends the server as pg_ctl stop -m immediate does: no farewell to the
// clients, nothing is written any more. It returns when all its processes are
// gone.
func (c *Cluster) Crash() error { return c.run.signal("QUIT") }

// Stop ends the server in good order: sessions are ended, changes written.
func (c *Cluster) Stop() error { return c.run.signal("INT") }

// Start starts the server after Crash or Stop, and returns when it has recovered
// and takes sessions.
func (c *Cluster) Start(ctx context.Context) error { return c.run.restart(ctx) }

// Promote makes a standby a primary, and returns when it takes writes.
func (c *Cluster) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.run.dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var promoted bool
	err = conn.QueryRow(ctx, "select pg_promote(wait_seconds => $1)", int(clusterTimeout.Seconds())).Scan(&promoted)
	if err == nil && !promoted {
		err = errors.New("pgtest: the standby was not promoted in time")
	}
	return err
}

// Close ends the server, whatever state it is in, and returns when nothing of
// it is left.
func (c *Cluster) Close() error { return c.run.stop() }
