package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	pgbenchName   = "relay_bench_pgbench"
	pgbenchScript = "select pg_try_advisory_lock(:client_id);\nselect pg_advisory_unlock(:client_id);\n"
)

// findPgbench returns "" when it is not installed.
func findPgbench() string {
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// checkPgbench makes pgbench fail when a lock is not got or was not held. What it
// runs later looks at no result.
func (b *bench) checkPgbench(ctx context.Context, clients int) error {
	check := strings.NewReplacer("pg_try_advisory_lock(:client_id)", "1 / pg_try_advisory_lock(:client_id)::int",
		"pg_advisory_unlock(:client_id)", "1 / pg_advisory_unlock(:client_id)::int").Replace(pgbenchScript)
	_, err := b.runPgbench(ctx, check, clients, "-t", "10")
	return err
}

// pgbenchInTurns is pgbench with one client, for three slices at a time: its
// session fills its caches in the first milliseconds.
func (b *bench) pgbenchInTurns() subject {
	transactions := 100
	return subject{name: "pgbench", run: func(ctx context.Context, d time.Duration) (sample, error) {
		report, err := b.runPgbench(ctx, pgbenchScript, 1, "-t", strconv.Itoa(transactions))
		if err != nil {
			return sample{}, err
		}
		rate, err := bestRate(pgbenchRate, report)
		if err != nil {
			return sample{}, err
		}
		got := sample{ops: transactions, took: time.Duration(float64(transactions) / rate * float64(time.Second))}
		transactions = max(100, int(rate*3*d.Seconds()))
		return got, nil
	}}
}

// pgbenchOnce is the best of pgbench's first three seconds. Its sessions are new,
// and fill their caches in the first, or in the second where connecting takes
// that long.
func (b *bench) pgbenchOnce(ctx context.Context, clients int) (float64, error) {
	report, err := b.runPgbench(ctx, pgbenchScript, clients, "-T", "3", "-P", "1")
	if err != nil {
		return 0, err
	}
	return bestRate(pgbenchSecond, report)
}

// runPgbench returns what pgbench says, when all its sessions are gone.
func (b *bench) runPgbench(ctx context.Context, script string, clients int, args ...string) ([]byte, error) {
	file, err := os.CreateTemp("", "relay-bench-*.sql")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(script)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	// -n: there are no tables of pgbench's to vacuum.
	args = append(args, "-n", "-M", "prepared", "-f", file.Name(), "-c", strconv.Itoa(clients))
	cmd := exec.CommandContext(ctx, b.pgbench, args...)
	c := b.config.ConnConfig
	tls := "disable"
	if c.TLSConfig != nil {
		tls = "require"
	}
	cmd.Env = append(os.Environ(), "PGHOST="+c.Host, "PGPORT="+strconv.Itoa(int(c.Port)), "PGUSER="+c.User,
		"PGPASSWORD="+c.Password, "PGDATABASE="+c.Database, "PGSSLMODE="+tls, "PGAPPNAME="+pgbenchName, "LC_ALL=C")
	report, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pgbench: %w\n%s", err, report)
	}
	return report, b.awaitGone(ctx, pgbenchName)
}

var (
	pgbenchSecond = regexp.MustCompile(`(?m)^progress: .*?, ([0-9.]+) tps`)
	pgbenchRate   = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without initial connection time\)`)
)

// bestRate finds the highest of the rates that a report has.
func bestRate(where *regexp.Regexp, report []byte) (best float64, err error) {
	for _, found := range where.FindAllSubmatch(report, -1) {
		rate, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return 0, err
		}
		best = max(best, rate)
	}
	if best == 0 {
		return 0, fmt.Errorf("no rate in pgbench's report:\n%s", report)
	}
	return best, nil
}
