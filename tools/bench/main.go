// Command bench measures what a lock, a hand-over and a lease cost, and prints
// each figure beside the goal that was set for it:
//
//	go run ./tools/bench [-rounds N] [-slice D] [-only 1,4] [-markdown] [-url URL]
//
// It takes a few minutes. Without -url and RELAY_TEST_DATABASE_URL it runs
// itself under pgtest-server, which starts a throw-away PostgreSQL with default
// settings, but for max_connections=200, on a unix socket. On a server that you
// name it works in a database of its own, which it drops, and needs the right to
// create one.
//
// The goals: 1 and 2 locks, 3 locks that are held, 4 hand-over, release and loss,
// 5 renewals, 6 leases, 7 partitions; 0 is what they are compared with.
//
// # How it measures
//
// Rates drift by a factor of two on a shared machine, and both sides of a
// comparison drift together. So what is compared runs in turns, in slices of
// 100 ms right beside each other; each round gives one ratio, and the median of
// the rounds' ratios counts. Rates and times are medians too, and are there to
// give an idea. Fewer than 15 rounds say little. Every operation's result is
// checked: a statement that matches nothing is fast.
//
// # The floor
//
// A floor is what the work costs without any of our code. For locks that is
// pgbench, with one session for each caller, prepared statements and the two
// statements
//
//	select pg_try_advisory_lock(:client_id);
//	select pg_advisory_unlock(:client_id);
//
// With one client it runs in turns with what is measured, 300 ms at a time. New
// sessions are slow at first, so with many clients it needs longer: what is
// measured runs in turns with the same statements in a Go loop over pgconn, one
// session for each caller, and that loop in turns with the best second of three of
// pgbench:
//
//	ratio = measured / Go loop × Go loop / pgbench
//
// Where pgbench is not installed the Go loop itself is the floor, and the table
// says "dedicated sessions" instead of "pgbench".
//
// The unit of a hand-over is the cold round trip: "select 1" on a session that
// was idle for 5 ms, when client and server have to be woken up.
//
// # The exit code
//
// A goal that is missed is no failure: the exit code is 0 whenever everything
// could be measured, and 1 when something went wrong or gave a wrong result.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// envURL is how pgtest-server passes its server on.
const envURL = "RELAY_TEST_DATABASE_URL"

// options say how much to measure.
type options struct {
	rounds   int
	slice    time.Duration
	only     map[int]bool // goals; empty: all of them, and 0, the comparisons
	markdown bool
	crowd    int    // callers, where the goal says 100
	many     int    // locks and leases, where the goal says 1000
	pgbench  string // the program; "" when it is not installed
}

func (o options) wants(goal int) bool { return len(o.only) == 0 || o.only[goal] }

func main() {
	opts := options{crowd: 100, many: 1000, pgbench: findPgbench()}
	flag.IntVar(&opts.rounds, "rounds", 15, "`number` of rounds, whose median counts")
	flag.DurationVar(&opts.slice, "slice", 100*time.Millisecond, "how `long` each side of a comparison runs in a round")
	flag.BoolVar(&opts.markdown, "markdown", false, "print Markdown, with the date and the machine")
	url := flag.String("url", os.Getenv(envURL), "the `URL` of a PostgreSQL; by default a throw-away one is started")
	only := flag.String("only", "", "comma-separated `goals` to measure, 0 for the comparisons; by default all")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
	err := opts.check(*only, flag.Args())
	switch {
	case err != nil:
	case *url == "":
		err = underServer(os.Args[1:])
	default:
		err = run(ctx, *url, opts, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (o *options) check(only string, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	if o.rounds < 1 || o.slice <= 0 {
		return errors.New("-rounds and -slice must be positive")
	}
	if only == "" {
		return nil
	}
	o.only = make(map[int]bool)
	for _, word := range strings.Split(only, ",") {
		goal, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || goal < 0 || goal > 7 {
			return fmt.Errorf("-only %s: %q is no goal from 0 to 7", only, word)
		}
		o.only[goal] = true
	}
	return nil
}

// sections in the order of the table. One may serve several goals, which share
// what they have to set up.
var sections = []struct {
	what    string
	goals   []int
	measure func(context.Context, *bench) error
}{
	{"locks", []int{1, 2}, measureLocks},
	{"held locks", []int{3}, measureHeld},
	{"hand-over", []int{4}, measureHandover},
	{"release", []int{4}, measureRelease},
	{"loss", []int{4}, measureLoss},
	{"renewals", []int{5}, measureRenewals},
	{"leases", []int{6}, measureLeases},
	{"partitions", []int{7}, measurePartitions},
	{"peers", []int{0}, measurePeers},
}

// run measures on the server of url and prints the table to out.
func run(ctx context.Context, url string, opts options, out io.Writer) (err error) {
	b, err := newBench(ctx, url, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.measure(ctx); err != nil {
		return err
	}
	where, err := b.machine(ctx)
	if err != nil {
		return err
	}
	if err := write(out, where, b.lines, opts.markdown); err != nil {
		return err
	}
	return failures(b.lines)
}

// measure leaves its lines in b. What goes wrong is a line too, and the rest goes
// on.
func (b *bench) measure(ctx context.Context) error {
	for _, s := range sections {
		if ctx.Err() == nil && b.wantsAny(s.goals) {
			if err := s.measure(ctx, b); err != nil && ctx.Err() == nil {
				b.add(line{goal: s.goals[0], what: s.what, err: err})
			}
		}
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return nil
}
