// Package pgtest gives a test a PostgreSQL database of its own.
//
//	func TestSomething(t *testing.T) {
//		pool, err := pgxpool.New(t.Context(), pgtest.DSN(t))
//
// The server comes from the first of these ways that works. A test logs which
// one it was, and why the ones before it were not used.
//
//  1. url: the server that RELAY_TEST_DATABASE_URL names. Its role must be
//     allowed to create databases.
//  2. container: Testcontainers, when a Docker engine answers and the image
//     (RELAY_TEST_POSTGRES_IMAGE, else postgres:17-alpine) is there or can be
//     pulled within a bound.
//  3. installed: the PostgreSQL programs of this machine. They run a throw-away
//     cluster on a unix socket in a private directory, as an unprivileged user
//     when the test runs as root.
//
// When none works the test is skipped; with RELAY_REQUIRE_POSTGRES=1 it fails.
// RELAY_TEST_POSTGRES=url, container or installed allows one way only.
//
// A process starts one server, at its first use, and remembers a failure too.
// A server ends with its process, also after a panic or kill -9: the cluster
// and the container both read from a pipe that only the process holds open.
// What cannot be cleaned up after kill -9 are databases on a server that
// RELAY_TEST_DATABASE_URL names; they are called relay_test_*.
//
// A test that has to crash a server, or to set it up in its own way, makes one
// of its own with NewCluster. That takes the installed programs, whatever way
// the other tests go.
package pgtest
