//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// leaving bounds how long sessions may stay after their processes have gone.
const leaving = 10 * time.Second

// run lets processes contend on the server of s.url while things break, and
// reports. cluster is that server, or nil if it must not crash.
func run(ctx context.Context, s settings, cluster *pgtest.Cluster) (*report, error) {
	schema := "chaos_" + strings.ToLower(rand.Text()[:10])
	cfg, err := configOf(s.url, schema)
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.RuntimeParams["application_name"] = "chaos"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	if err := prepare(ctx, pool, schema); err != nil {
		return nil, err
	}
	last := context.WithoutCancel(ctx) // a Ctrl-C ends the chaos, not the check
	defer func() { _, _ = pool.Exec(last, "drop schema "+schema+" cascade") }()

	r, err := breakThings(ctx, s, pool, schema, cluster)
	if err != nil {
		return nil, err
	}
	left, err := leftSessions(last, pool, schema)
	if err != nil {
		return nil, err
	}
	r.left = append(r.left, left...)
	r.stored, err = storedWrites(last, pool)
	return r, err
}

// breakThings lets processes contend until the time is over or ctx ends.
func breakThings(ctx context.Context, s settings, pool *pgxpool.Pool, schema string, cluster *pgtest.Cluster) (*report, error) {
	began := time.Now()
	crew, err := startCrew(s, schema)
	if err != nil {
		return nil, err
	}
	m := newMayhem(s.seed, crew, pool, schema, cluster)
	err = m.run(ctx, s.duration)
	r := &report{seed: s.seed, deeds: m.deeds, failed: map[string]int{}}
	r.processes, r.left = crew.stop()
	r.took = time.Since(began)
	r.each(func(_ int, rec record) {
		if rec.Kind == failed {
			r.failed[rec.Error]++
		}
	})
	return r, err
}

func prepare(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	// Asynchronous, this would be forgotten in the first crash.
	_, err := pool.Exec(ctx, fmt.Sprintf(`set synchronous_commit = on; create schema %s;
		create sequence chaos_ticks;
		create table chaos_writes (seq bigserial, role text, token bigint, id text)`, schema))
	if err != nil {
		return err
	}
	return postgres.Migrate(ctx, pool)
}

// storedWrites returns the writes in the order in which the fence admitted them:
// each took its number while it had the fence's row locked.
func storedWrites(ctx context.Context, pool *pgxpool.Pool) ([]write, error) {
	rows, err := pool.Query(ctx, "select role, token, id from chaos_writes order by seq")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w write, err error) {
		err = row.Scan(&w.role, &w.token, &w.id)
		return w, err
	})
}

// leftSessions says which sessions of the processes do not end. Their locks end
// with them.
func leftSessions(ctx context.Context, pool *pgxpool.Pool, schema string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	var seen []string
	for {
		rows, err := pool.Query(ctx, `select format('a session is left: pid %s, %s, %s', pid, state, query)
			from pg_stat_activity where application_name = $1`, schema)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return seen, nil
		}
		if err != nil {
			return nil, err
		}
		now, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err == nil && len(now) == 0 {
			return nil, nil
		}
		if ctx.Err() != nil {
			return seen, nil
		}
		seen = now
	}
}
