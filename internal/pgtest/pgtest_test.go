//go:build unix

package pgtest_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/stretchr/testify/require"
)

func open(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func ask[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var answer T
	require.NoError(t, conn.QueryRow(t.Context(), sql, args...).Scan(&answer))
	return answer
}

func TestDSN_TwoCallsGiveTwoDatabasesOnOneServer(t *testing.T) {
	first, second := open(t, pgtest.DSN(t)), open(t, pgtest.DSN(t))
	const name = "select current_database()"
	require.NotEqual(t, ask[string](t, first, name), ask[string](t, second, name))
	const started = "select pg_postmaster_start_time()"
	require.Equal(t, ask[time.Time](t, first, started), ask[time.Time](t, second, started))

	_, err := first.Exec(t.Context(), "create table only_in_the_first ()")
	require.NoError(t, err)
	require.False(t, ask[bool](t, second, "select to_regclass('only_in_the_first') is not null"))
}

func TestDSN_IsTheSameOnEveryServer(t *testing.T) {
	conn := open(t, pgtest.DSN(t))
	require.Equal(t, "UTF8", ask[string](t, conn, "show server_encoding"))
	const collation = "select datcollate from pg_database where datname = current_database()"
	require.Equal(t, "C", ask[string](t, conn, collation))
	require.Equal(t, "on", ask[string](t, conn, "show fsync"), "a server as it is set up by default")
}

func TestDSN_DatabaseIsDroppedWhenItsTestEnds(t *testing.T) {
	outer := open(t, pgtest.DSN(t))
	var name string
	var leaked *pgx.Conn
	t.Run("a test that leaves a session open", func(t *testing.T) {
		var err error
		leaked, err = pgx.Connect(t.Context(), pgtest.DSN(t))
		require.NoError(t, err)
		name = ask[string](t, leaked, "select current_database()")
	})
	require.False(t, ask[bool](t, outer, "select exists (select from pg_database where datname = $1)", name),
		"%s is still there", name)
	require.Error(t, leaked.Ping(t.Context()))
}

func TestDSN_WorksWithAPool(t *testing.T) {
	cfg, err := pgxpool.ParseConfig(pgtest.DSN(t))
	require.NoError(t, err)
	cfg.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	for range cfg.MaxConns {
		conn, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		defer conn.Release()
	}
	require.EqualValues(t, cfg.MaxConns, pool.Stat().AcquiredConns())
}

func TestSuperuserDSN_IsASuperuser(t *testing.T) {
	conn := open(t, pgtest.SuperuserDSN(t))
	require.Equal(t, "on", ask[string](t, conn, "show is_superuser"))
}

func TestSuperuserDSN_SkipsWhereTheNamedRoleIsNone(t *testing.T) {
	limited := pgtest.EnvURL + "=" + asRole(t, pgtest.SuperuserDSN(t), "login createdb")
	run := "-test.run=^TestChildSuperuser$"

	cmd := child(t, "end", limited)
	cmd.Args[1] = run
	said, err := output(t, cmd)
	require.NoError(t, err, said)
	require.Contains(t, said, "--- SKIP: TestChildSuperuser")
	require.Contains(t, said, "needs a superuser")

	cmd = child(t, "end", limited, pgtest.EnvRequire+"=1")
	cmd.Args[1] = run
	said, err = output(t, cmd)
	require.Error(t, err, said)
	require.Contains(t, said, "--- FAIL: TestChildSuperuser")

	said, err = output(t, child(t, "end", limited))
	require.NoError(t, err, "DSN needs no superuser, only the right to create databases\n%s", said)
	require.Contains(t, said, "--- PASS: TestChild")
}

// asRole makes a role and returns dsn with it, in the server's first database.
func asRole(t *testing.T, dsn, rights string) string {
	t.Helper()
	conn := open(t, dsn)
	role := strings.Replace(ask[string](t, conn, "select current_database()"), "relay_test_", "relay_test_role_", 1)
	_, err := conn.Exec(t.Context(), "create role "+role+" password 'secret' "+rights)
	require.NoError(t, err)
	t.Cleanup(func() {
		last, err := pgx.Connect(context.Background(), dsn)
		if err == nil {
			_, err = last.Exec(context.Background(), "drop role "+role)
		}
		require.NoError(t, err)
	})

	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.Path = "/postgres"
	u.User = url.UserPassword(role, "secret")
	query := u.Query()
	query.Del("user")
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return u.String()
}
