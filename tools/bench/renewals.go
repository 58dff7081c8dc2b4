package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// renewals are what the rounds of goal 5 gave, each for all the leases at once.
type renewals struct {
	times          []time.Duration
	trips, commits []float64
}

// measureRenewals renews all the leases of a process at once.
func measureRenewals(ctx context.Context, b *bench) error {
	if _, err := b.admin.Exec(ctx, floorTableSQL); err != nil {
		return err
	}
	before, err := b.updates(ctx)
	if err != nil {
		return err
	}
	cfg := b.named(leasesName)
	trips := &tripCounter{}
	trips.watch(cfg)
	store, closeStore, err := b.newLeaseStore(cfg)
	if err != nil {
		return err
	}
	defer closeStore()
	single, closeSingle, err := b.singleRenewals(ctx)
	if err != nil {
		return err
	}
	defer closeSingle()

	r, ratios, singles, err := b.renewInTurns(ctx, store, trips, single)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d renewals at once", b.many)
	b.add(line{goal: 5, what: what + ", round trips", value: count(median(r.trips)), bound: valueAtMost(1, "")})
	b.add(line{goal: 5, what: what + ", commits", value: count(median(r.commits)), bound: valueAtMost(1, "")})
	b.add(line{goal: 5, what: what + ", time for each", value: micros(medianTime(r.times) / time.Duration(b.many)),
		base: "single statement", floor: micros(time.Duration(1e9 / singles.rate())), rounds: ratios, bound: atMost(0.03)})

	// A session's counts arrive at its end, if not sooner.
	if err := errors.Join(store.Close(ctx), b.awaitGone(ctx, leasesName)); err != nil {
		return err
	}
	return b.addHot(ctx, before, b.many*(b.rounds+1))
}

// renewInTurns renews with the store and with single statements, in turns.
func (b *bench) renewInTurns(ctx context.Context, store *postgres.LeaseStore, trips *tripCounter, single subject,
) (r renewals, ratios []float64, singles series, err error) {
	roles := names("renewed", b.many)
	tokens := make([]relay.Token, b.many)
	if _, err := together(ctx, b.many, func(ctx context.Context, i int) error {
		lease, err := store.TryAcquireOrRenew(ctx, roles[i], "bench", leaseTTL)
		tokens[i] = lease.Token
		return err
	}); err != nil {
		return r, nil, nil, err
	}
	renew := func(ctx context.Context, i int) error {
		lease, err := store.TryAcquireOrRenew(ctx, roles[i], "bench", leaseTTL)
		if err == nil && lease.Token != tokens[i] {
			err = fmt.Errorf("a renewal changed the token from %d to %d", tokens[i], lease.Token)
		}
		return err
	}
	for round := -1; round < b.rounds; round++ { // the first warms up
		tripsBefore := trips.count()
		xidBefore, err := b.nextXID(ctx)
		if err != nil {
			return r, nil, nil, err
		}
		took, err := together(ctx, b.many, renew)
		if err != nil {
			return r, nil, nil, err
		}
		xidAfter, err := b.nextXID(ctx)
		if err != nil {
			return r, nil, nil, err
		}
		tripsAfter := trips.count()
		one, err := single.run(ctx, b.slice)
		if err != nil {
			return r, nil, nil, err
		}
		if round < 0 {
			continue
		}
		r.times = append(r.times, took)
		r.trips = append(r.trips, float64(tripsAfter-tripsBefore))
		r.commits = append(r.commits, float64(xidAfter-xidBefore))
		singles = append(singles, one)
		ratios = append(ratios, took.Seconds()/float64(b.many)*one.rate())
	}
	return r, ratios, singles, nil
}

// singleRenewals renews one lease after the other on a dedicated session.
func (b *bench) singleRenewals(ctx context.Context) (subject, func(), error) {
	conn, closeConn, err := b.session(ctx, "relay_bench_single")
	if err != nil {
		return subject{}, nil, err
	}
	if err := prepare(ctx, conn, floorTakeSQL); err != nil {
		closeConn()
		return subject{}, nil, err
	}
	roles, next := names("single", b.many), 0
	owner, ttl := []byte("bench"), []byte(leaseTTL.String())
	return repeat("single statements", 1, func(context.Context, int) error {
		next = (next + 1) % len(roles)
		return expectTrue(context.Background(), conn, floorTakeSQL, []byte(roles[next]), owner, ttl) // token 1
	}), closeConn, nil
}

// nextXID counts the transactions that write, which take one each. The server's
// own count of commits comes up to seconds late.
func (b *bench) nextXID(ctx context.Context) (xid int64, err error) {
	err = b.admin.QueryRow(ctx, "select txid_snapshot_xmax(txid_current_snapshot())").Scan(&xid)
	return xid, err
}

// updated is the server's count of the updates of relay_leases.
type updated struct{ all, hot int }

func (b *bench) updates(ctx context.Context) (u updated, err error) {
	err = b.admin.QueryRow(ctx, `select coalesce(sum(n_tup_upd), 0), coalesce(sum(n_tup_hot_upd), 0)
		from pg_stat_user_tables where relname = 'relay_leases'`).Scan(&u.all, &u.hot)
	return u, err
}

// addHot tells how many of the updates touched no index. There have to be as
// many as there were renewals.
func (b *bench) addHot(ctx context.Context, before updated, renewed int) error {
	var now updated
	for range 100 {
		var err error
		if now, err = b.updates(ctx); err != nil {
			return err
		}
		if now.all-before.all >= renewed {
			break
		}
		time.Sleep(50 * time.Millisecond) // before PostgreSQL 15 a collector counts
	}
	all, hot := now.all-before.all, now.hot-before.hot
	if all < renewed {
		return fmt.Errorf("%d renewals updated %d rows", renewed, all)
	}
	b.add(line{goal: 5, what: "renewals that are HOT updates", value: quantity{100 * float64(hot) / float64(all), " %"},
		bound: valueAtLeast(96, " %")})
	return nil
}

// tripCounter counts round trips on connections: the writes that come after a
// read, or first.
type tripCounter struct {
	mu    sync.Mutex // guards what follows
	trips int
}

func (c *tripCounter) watch(cfg *pgxpool.Config) {
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: conn, counter: c, answered: true}, nil
	}
}

func (c *tripCounter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trips
}

type countedConn struct {
	net.Conn
	counter  *tripCounter
	answered bool // something was read since the last write; the counter's mu guards it
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.counter.mu.Lock()
		c.answered = true
		c.counter.mu.Unlock()
	}
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.counter.mu.Lock()
	if c.answered {
		c.counter.trips++
	}
	c.answered = false
	c.counter.mu.Unlock()
	return c.Conn.Write(p)
}
