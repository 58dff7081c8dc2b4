//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// childVariable makes a copy of this program one of the processes that contend.
// It carries a childConfig.
const childVariable = "RELAY_CHAOS_CHILD"

type childConfig struct {
	URL, Schema, Name string
	Roles             int
}

// child is one of the processes that contend.
type child struct {
	childConfig
	start  time.Time
	pool   *pgxpool.Pool // for writes, and to look
	leases *postgres.LeaseStore
	locker *postgres.Locker

	mu  sync.Mutex // guards out
	out *json.Encoder
}

// childMain is the child's main function. It reports false in the parent.
func childMain() bool {
	text, isChild := os.LookupEnv(childVariable)
	if !isChild {
		return false
	}
	c := &child{start: time.Now(), out: json.NewEncoder(os.Stdout)}
	err := json.Unmarshal([]byte(text), &c.childConfig)
	if err == nil {
		err = c.run()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: %s: %v\n", c.Name, err)
		os.Exit(1)
	}
	return true
}

// run contends until standard input ends, which it does at the latest with the
// parent.
func (c *child) run() error {
	cfg, err := configOf(c.URL, c.Schema)
	if err != nil {
		return err
	}
	// A process that is frozen in a transaction holds up the writes of all.
	cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "500"
	ctx, cancel := context.WithCancel(context.Background())
	if c.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return err
	}
	c.leases, err = postgres.NewLeaseStore(cfg, postgres.LeaseStoreConfig{RequestTimeout: 2 * time.Second})
	if err != nil {
		return err
	}
	c.locker, err = postgres.NewLocker(cfg, postgres.LockerConfig{
		TTL: time.Second, RequestTimeout: 400 * time.Millisecond, RetryInterval: 10 * time.Millisecond,
	})
	if err != nil {
		return err
	}

	var loops sync.WaitGroup
	for role := range c.Roles {
		for n := range 2 {
			loops.Go(func() { c.contendForLease(ctx, fmt.Sprint("role-", role), n) })
			loops.Go(func() { c.contendForLock(ctx, fmt.Sprintf("%s/lock-%d", c.Schema, role), n) })
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	loops.Wait()
	c.pool.Close()
	ctx, cancel = context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(c.leases.Close(ctx), c.locker.Close(ctx))
}

// configOf connects to a schema of the run's own. The application's name is the
// schema's, by which the parent finds the sessions.
func configOf(url, schema string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	cfg.ConnConfig.RuntimeParams["application_name"] = schema
	return cfg, nil
}

// say writes a line, in one piece also when the process is killed meanwhile.
func (c *child) say(r record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(r)
}

// fail tells of an error that is no refusal.
func (c *child) fail(ctx context.Context, err error) {
	var refused *pgconn.PgError
	kind := "no answer"
	switch {
	case ctx.Err() != nil || errors.Is(err, relay.ErrNotAcquired):
		return
	case errors.As(err, &refused):
		kind = refused.Code
	}
	c.say(record{Kind: failed, Error: kind})
	pause(ctx, 10*time.Millisecond+upTo(30*time.Millisecond)) // the server may be down
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// upTo draws a duration.
func upTo(d time.Duration) time.Duration { return rand.N(d) }

// oneIn is true once in n times.
func oneIn(n int) bool { return rand.IntN(n) == 0 }
