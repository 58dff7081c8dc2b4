package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// adminTimeout bounds making or dropping one database, a server that is
// recovering from a crash included.
const adminTimeout = time.Minute

// DSN returns the connection string of a database made for this test, empty,
// in UTF-8 and the C locale. When the test ends the database is dropped, and
// sessions that are still open in it are cut. A second call makes a second
// database on the same server.
//
// It is a postgres:// URL, except on a server that RELAY_TEST_DATABASE_URL
// names by keywords. The role is a superuser unless such a server gives less;
// see SuperuserDSN.
func DSN(t testing.TB) string {
	t.Helper()
	return newDatabase(t, testServer(t))
}

// SuperuserDSN is DSN for a test that needs a superuser, for example to
// end other roles' sessions. It skips the test, or fails it under
// RELAY_REQUIRE_POSTGRES=1, when the role is not one.
func SuperuserDSN(t testing.TB) string {
	t.Helper()
	srv := testServer(t)
	var super bool
	err := srv.admin(func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "select rolsuper from pg_roles where rolname = current_user").Scan(&super)
	})
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if !super {
		giveUp(t, EnvRequire, "pgtest: this test needs a superuser, and the role of "+EnvURL+" is not one")
	}
	return newDatabase(t, srv)
}

func testServer(t testing.TB) *Server {
	t.Helper()
	srv, err := shared(t)
	if err != nil {
		var none *NoServerError
		if errors.As(err, &none) {
			giveUp(t, EnvRequire, err.Error())
		}
		t.Fatal(err)
	}
	t.Logf("pgtest: %s", srv.Why)
	return srv
}

// giveUp ends the test: skipped, or failed where the variable require demands
// what is missing.
func giveUp(t testing.TB, require, message string) {
	t.Helper()
	if os.Getenv(require) == "1" {
		t.Fatal(message + "\n" + require + "=1: that is a failure")
	}
	t.Skip(message)
}

func newDatabase(t testing.TB, srv *Server) string {
	t.Helper()
	name := "relay_test_" + strings.ToLower(rand.Text()[:16])
	dsn, err := withDatabase(srv.URL, name)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	// template0 has no sessions, so that creating never has to wait for one.
	if err := srv.exec("create database " + name + " template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'"); err != nil {
		t.Fatalf("pgtest: create a database: %v", err)
	}
	t.Cleanup(func() {
		if err := srv.exec("drop database if exists " + name + " with (force)"); err != nil {
			t.Errorf("pgtest: drop the database: %v", err)
		}
	})
	return dsn
}

func (s *Server) exec(sql string) error {
	return s.admin(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

// admin runs fn on a session of its own in the server's first database. It is
// not bound to the test's context, which has ended when databases are dropped.
func (s *Server) admin(fn func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	conn, err := connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return fn(ctx, conn)
}

// connect waits for a server that starts or recovers, until ctx ends.
func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	for {
		conn, err := pgx.Connect(ctx, dsn)
		if err == nil || !startingUp(err) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func startingUp(err error) bool {
	const cannotConnectNow = "57P03"
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == cannotConnectNow
}

// withDatabase returns dsn with its database replaced.
func withDatabase(dsn, name string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + name, nil // the last of two keywords counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("%s is not a URL", EnvURL) // err repeats the password
	}
	u.Path = "/" + name
	// The rest of the query stays as it is written.
	query := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(parameter string) bool {
		key, _, _ := strings.Cut(parameter, "=")
		return key == "dbname" || key == "database"
	})
	u.RawQuery = strings.Join(query, "&")
	return u.String(), nil
}

// encodeQuery encodes a space as %20. In the URLs of PostgreSQL a + is a +.
func encodeQuery(values url.Values) string {
	return strings.ReplaceAll(values.Encode(), "+", "%20")
}
