// Command leader is one instance of a service that elects a leader through
// PostgreSQL. Start it in two terminals, and stop, kill or freeze the one that
// leads:
//
//	leader -database URL -name node-a
//
// The leader adds 1 to a row every second, in a transaction that its fencing
// token guards. The line that a frozen leader prints when it wakes up shows
// what the token is for.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2) // parse has said why
	}
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "leader:", err)
		os.Exit(1)
	}
}

// settings are the command line.
type settings struct {
	database, role, name string
	ttl                  time.Duration
}

// parse reads the command line, and says on stderr what is wrong with it.
func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("leader", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.database, "database", "", "PostgreSQL `URL` (default: what DATABASE_URL says)")
	flags.StringVar(&s.role, "role", "reports", "the role to stand for")
	flags.StringVar(&s.name, "name", fmt.Sprint("pid-", os.Getpid()), "the name of this instance")
	flags.DurationVar(&s.ttl, "ttl", 10*time.Second, "how long a lease lives without renewal, 300ms or more")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.database = cmp.Or(s.database, os.Getenv("DATABASE_URL"))
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.database == "":
		err = errors.New("give -database or DATABASE_URL; `make postgres` starts a server and prints its URL")
	case s.ttl < 300*time.Millisecond:
		err = fmt.Errorf("-ttl %v leaves no time for round trips", s.ttl)
	}
	if err != nil {
		fmt.Fprintln(stderr, "leader:", err)
	}
	return s, err
}

// run stands for the role until ctx ends, and then gives it up.
func run(ctx context.Context, s settings, stdout io.Writer) (err error) {
	cfg, err := pgxpool.ParseConfig(s.database)
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, cfg.Copy(), s.ttl)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := prepare(ctx, pool); err != nil {
		return err
	}
	leases, err := postgres.NewLeaseStore(cfg, postgres.LeaseStoreConfig{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leases.Close(context.WithoutCancel(ctx))) }()

	out := &log{w: stdout, who: s.name}
	//docgen:begin elect
	elector, err := relay.NewLeaseElector(leases, relay.LeaseElectorConfig{
		Owner: s.name, TTL: s.ttl, Observer: out.observe,
	})
	if err != nil {
		return err
	}
	out.printf("pid %d stands for %q, TTL %v", os.Getpid(), s.role, s.ttl)
	err = elector.Run(ctx, s.role, func(ctx context.Context, term relay.Term) error {
		return lead(ctx, term, s.role, pool, out)
	})
	//docgen:end elect
	if errors.Is(err, context.Canceled) {
		return nil // asked to stop
	}
	return err
}

// openPool opens the pool for the writes. A leader that freezes in the middle
// of a transaction holds the row of the fence, and with it up its successor's
// writes; so the server ends a transaction that has been idle for a TTL.
func openPool(ctx context.Context, cfg *pgxpool.Config, ttl time.Duration) (*pgxpool.Pool, error) {
	cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt(ttl.Milliseconds(), 10)
	return pgxpool.NewWithConfig(ctx, cfg)
}

// lead writes once a second until ctx ends, or until the database refuses its
// token.
func lead(ctx context.Context, term relay.Term, role string, pool *pgxpool.Pool, out *log) error {
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		count, err := write(ctx, pool, role, term.Token())
		switch {
		case err == nil:
			out.printf("writes %d with token %d", count, term.Token())
		case errors.Is(err, relay.ErrStaleToken):
			out.printf("late write REFUSED: %v", err)
			return err // which makes the elector step down
		case ctx.Err() == nil:
			out.printf("a write failed: %v", err)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), relay.ErrLost) {
				writeLate(pool, role, term.Token(), out)
			}
			return nil
		}
	}
}

// writeLate plays the leader that was paused between its last look at ctx and
// its write. Real work stops here.
func writeLate(pool *pgxpool.Pool, role string, token relay.Token, out *log) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	count, err := write(ctx, pool, role, token)
	switch {
	case err == nil:
		out.printf("late write of %d with token %d: nobody has led since", count, token)
	case errors.Is(err, relay.ErrStaleToken):
		out.printf("late write REFUSED: %v", err)
	default:
		out.printf("a late write failed: %v", err)
	}
}

// write adds 1 to the role's row, in the transaction that admits the token.
func write(ctx context.Context, pool *pgxpool.Pool, role string, token relay.Token) (count int64, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := postgres.AdmitTx(ctx, tx, role, token); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			insert into leader_demo as d (role, count) values ($1, 1)
			on conflict (role) do update set count = d.count + 1
			returning count`, role).Scan(&count)
	})
	return count, err
}

// prepare makes the tables. Both instances do it when they start, and the lock
// keeps them out of each other's way.
func prepare(ctx context.Context, pool *pgxpool.Pool) error {
	if err := postgres.Migrate(ctx, pool); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := postgres.LockTx(ctx, tx, "leader_demo schema"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `create table if not exists leader_demo (role text primary key, count bigint not null)`)
		return err
	})
}
