//go:build unix

package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/internal/pgtest"
)

// mayhem breaks one thing after the other.
type mayhem struct {
	rand    *rand.Rand
	crew    *crew
	pool    *pgxpool.Pool
	schema  string
	cluster *pgtest.Cluster // nil: the server is not ours to crash

	deeds  map[string]int
	thaws  sync.WaitGroup
	shares []share
}

// share is a way to break things, and how often it comes in a round.
type share struct {
	name  string
	times int
	do    func(ctx context.Context) error
}

func newMayhem(seed uint64, crew *crew, pool *pgxpool.Pool, schema string, cluster *pgtest.Cluster) *mayhem {
	m := &mayhem{
		rand: rand.New(rand.NewPCG(seed, 0)), crew: crew, pool: pool, schema: schema, cluster: cluster,
		deeds: map[string]int{},
	}
	m.shares = []share{
		{"kills", 2, m.kill},
		{"freezes", 3, m.freeze},
		{"terminated sessions", 4, m.terminate},
	}
	if cluster != nil {
		m.shares = append(m.shares, share{"crashes", 2, m.crash})
	}
	return m
}

// run goes on for that long, and at least until everything was broken in every
// way once. The end of ctx ends it at once.
func (m *mayhem) run(ctx context.Context, duration time.Duration) error {
	defer m.thaws.Wait()
	until := time.Now().Add(duration)
	for first := true; ; first = false {
		for _, s := range m.round() {
			pause(ctx, 50*time.Millisecond+m.upTo(300*time.Millisecond))
			if ctx.Err() != nil || !first && time.Now().After(until) {
				return nil
			}
			// A deed is done to its end: a crash that is left half-way would leave
			// no server to check.
			if err := s.do(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			m.deeds[s.name]++
		}
	}
}

// round has every way in it, in an order of its own.
func (m *mayhem) round() (round []share) {
	for _, s := range m.shares {
		for range s.times {
			round = append(round, s)
		}
	}
	m.rand.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
	return round
}

func (m *mayhem) upTo(d time.Duration) time.Duration { return time.Duration(m.rand.Int64N(int64(d))) }

func (m *mayhem) kill(context.Context) error { return m.crew.replace(m.rand.IntN(len(m.crew.working))) }

// freeze stops a process, now and then for longer than its locks live.
func (m *mayhem) freeze(context.Context) error {
	w := m.crew.working[m.rand.IntN(len(m.crew.working))]
	w.signal(syscall.SIGSTOP)
	length := m.upTo(1500 * time.Millisecond)
	m.thaws.Go(func() {
		time.Sleep(length)
		w.signal(syscall.SIGCONT) // to nobody, if it was killed meanwhile
	})
	return nil
}

func (m *mayhem) terminate(ctx context.Context) error {
	rows, err := m.pool.Query(ctx, "select pid from pg_stat_activity where application_name = $1 order by pid", m.schema)
	if err != nil {
		return err
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || len(pids) == 0 {
		return err
	}
	_, err = m.pool.Exec(ctx, "select pg_terminate_backend($1)", pids[m.rand.IntN(len(pids))])
	return err
}

func (m *mayhem) crash(ctx context.Context) error {
	if err := m.cluster.Crash(); err != nil {
		return err
	}
	time.Sleep(m.upTo(200 * time.Millisecond))
	defer m.pool.Reset() // its sessions went with the server
	return m.cluster.Start(ctx)
}
