//go:build unix

// Command chaos makes processes contend for leases and locks while it kills and
// freezes them, terminates their sessions and crashes the server, and then
// checks what they were granted:
//
//	chaos [-for 3m] [-processes 3] [-roles 4] [-seed N] [-url URL]
//
//	-for        how long to go on, 3m by default
//	-processes  how many contend, 3 by default
//	-roles      how many roles, and how many locks, there are, 4 by default
//	-seed       of the order in which things break; drawn and printed by default
//	-url        a PostgreSQL to use, in a schema that is made and dropped; it is
//	            not crashed. By default a throw-away server is started
//
// Leases live for 5 to 20 ms, so that calls fall on the moment of expiry. It
// ends with 1, and with the evidence, if a promise was broken: a token with two
// owners, tokens that fall, a stale write admitted or an acknowledged one lost, a
// lock with two holders, or a session or lock left behind. `make soak` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/relay-samples/relay-go/internal/pgtest"
)

// settings are the command line.
type settings struct {
	duration         time.Duration
	processes, roles int
	seed             uint64
	url              string
}

func main() {
	if childMain() {
		return
	}
	s := parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runOnServer(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func parse() settings {
	var s settings
	flag.DurationVar(&s.duration, "for", 3*time.Minute, "how long to go on")
	flag.IntVar(&s.processes, "processes", 3, "how many processes contend")
	flag.IntVar(&s.roles, "roles", 4, "how many roles, and how many locks, there are")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "of the order in which things break")
	flag.StringVar(&s.url, "url", "", "PostgreSQL `URL` (default: a throw-away server, which is crashed too)")
	flag.Parse()
	if flag.NArg() > 0 || s.processes < 1 || s.roles < 1 {
		flag.Usage()
		os.Exit(2)
	}
	return s
}

// runOnServer runs on the server that was named, or else on one of its own.
func runOnServer(ctx context.Context, s settings) (err error) {
	var cluster *pgtest.Cluster
	if s.url == "" {
		cluster, err = pgtest.StartCluster(ctx, asynchronous...)
		if err != nil {
			return fmt.Errorf("%w: install the PostgreSQL server programs, or give -url", err)
		}
		defer func() { err = errors.Join(err, cluster.Close()) }()
		s.url = cluster.DSN()
	}
	report, err := run(ctx, s, cluster)
	if err != nil {
		return err
	}
	fmt.Println(report.summary())
	return report.verdict()
}

// asynchronous makes a crash forget whatever leaves its commit to the server's
// defaults.
var asynchronous = []string{
	"synchronous_commit=off", "wal_writer_delay=10s", "default_transaction_isolation=serializable",
}
