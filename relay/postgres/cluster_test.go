//go:build unix

package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// hostile are defaults of a server on which a grant that leaves anything to them
// is forgotten in a crash: the WAL of an asynchronous commit stays in memory for
// 10 s, and contenders under serializable fail.
var hostile = []string{
	"synchronous_commit=off", "wal_writer_delay=10s", "default_transaction_isolation=serializable",
}

// server is a server of the test's own, and its first database.
type server struct {
	*pgtest.Cluster
	*database
}

func newServer(t testing.TB, settings ...string) server {
	t.Helper()
	takesLong(t)
	return open(t, pgtest.NewCluster(t, settings...))
}

func open(t testing.TB, cluster *pgtest.Cluster) server {
	t.Helper()
	return server{cluster, openDatabase(t, cluster.DSN(), "")}
}

// migrate makes relay's tables, and writes everything that there is: a crash
// would else forget a table that was made asynchronously.
func (s server) migrate(t testing.TB) {
	t.Helper()
	require.NoError(t, postgres.Migrate(t.Context(), s.pool))
	s.exec(t, "checkpoint")
}

func (s server) crash(t testing.TB) {
	t.Helper()
	require.NoError(t, s.Crash())
}

func (s server) start(t testing.TB) {
	t.Helper()
	require.NoError(t, s.Start(t.Context()))
	s.pool.Reset() // its sessions have gone with the server
}

// awaitSessionsNamed returns when an application has that many sessions.
func (d *database) awaitSessionsNamed(t testing.TB, application string, want int) {
	t.Helper()
	for query[int](t, d, "select count(*) from pg_stat_activity where application_name = $1", application) != want {
		require.NoError(t, t.Context().Err())
	}
}

// untilAnswered repeats a call until the server answers it: the first one after
// a crash may still be on a session that has gone with it.
func untilAnswered[T any](t testing.TB, call func() (T, error)) T {
	t.Helper()
	for {
		answer, err := call()
		if err == nil {
			return answer
		}
		t.Log(err)
		require.NoError(t, t.Context().Err())
	}
}
