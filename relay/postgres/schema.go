package postgres

import (
	"context"
	_ "embed" // for schema.sql
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed schema.sql
var schema string

// migrateKey is the advisory lock key under which one Migrate runs at a time:
// "MIGR" in ASCII, a space of its own beside LockKey's.
const migrateKey int64 = 0x4D494752 << 32

// Schema is the SQL of the tables relay_leases, relay_nodes and relay_fences,
// for those who run migrations with a tool of their own. It leaves tables alone
// that are already there. Two sessions must not run it at the same moment;
// Migrate sees to that.
func Schema() string { return schema }

// Migrate creates the tables that are missing, in the first schema of the
// search_path. If all of them can be found through it, nothing is done, and no
// privilege to create is needed. It is safe to run from many nodes at once, on
// every start. A *pgxpool.Pool or a *pgx.Conn will do.
func Migrate(ctx context.Context, pool interface {
	Begin(ctx context.Context) (pgx.Tx, error)
},
) error {
	if isNil(pool) {
		return errors.New("relay/postgres: migrate: the pool is nil")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return migrate(ctx, tx) })
	if err != nil {
		return wrap("migrate", err)
	}
	return nil
}

func migrate(ctx context.Context, tx pgx.Tx) error {
	// "create table if not exists" looks before it creates: run twice at once,
	// it fails with a duplicate key of a system catalog.
	_, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1::int8)", pgx.QueryExecModeExec, migrateKey)
	if err != nil {
		return fmt.Errorf("wait for others: %w", err)
	}
	const complete = `select to_regclass('relay_leases') is not null
		and to_regclass('relay_nodes') is not null and to_regclass('relay_fences') is not null`
	var done bool
	if err := tx.QueryRow(ctx, complete, pgx.QueryExecModeExec).Scan(&done); err != nil || done {
		return err
	}
	// "already exists, skipping" is of no interest to anybody.
	_, err = tx.Exec(ctx, "set local client_min_messages = warning;"+schema, pgx.QueryExecModeSimpleProtocol)
	return err
}
