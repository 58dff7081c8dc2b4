package postgres

import (
	"context"
	_ "embed" // for schema.sql
	"errors"
	"fmt"
	"strings"

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

// Migrate creates the tables that are missing. If all of them can be found
// through the search_path, nothing is done, and no privilege to create is
// needed. If none can, they are created in the first schema of the search_path.
// If only some can, the others are created beside them: a second relay_leases
// that is found before the first would start its tokens again. When those that
// are found live in several schemas Migrate can't know where the others belong,
// and says so.
//
// It refuses what is called like a table and is none, and a relay_leases or
// relay_fences that is UNLOGGED or temporary, which would forget its tokens.
//
// It is safe to run from many nodes at once, on every start. A *pgxpool.Pool or
// a *pgx.Conn will do.
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
	found, err := findTables(ctx, tx)
	if err != nil {
		return err
	}
	home, complete, err := judgeTables(found)
	if err != nil || complete {
		return err
	}
	if home == "" {
		return createTables(ctx, tx)
	}
	var path string
	const inside = "select current_setting('search_path'), set_config('search_path', $1, true)"
	if err := tx.QueryRow(ctx, inside, pgx.QueryExecModeExec, home).Scan(&path, nil); err != nil {
		return fmt.Errorf("go to schema %s: %w", home, err)
	}
	if err := createTables(ctx, tx); err != nil {
		return fmt.Errorf("in schema %s, where the other tables are: %w", home, err)
	}
	_, err = tx.Exec(ctx, "select set_config('search_path', $1, true)", pgx.QueryExecModeExec, path)
	return err
}

func createTables(ctx context.Context, tx pgx.Tx) error {
	// "already exists, skipping" is of no interest to anybody.
	// A crash must not forget tables that were promised, whatever the default.
	_, err := tx.Exec(ctx, "set local client_min_messages = warning; set local synchronous_commit = on;"+schema,
		pgx.QueryExecModeSimpleProtocol)
	return err
}

// table is what a name of ours stands for. All but the name is empty if nothing
// is found.
type table struct {
	name        string
	schema      string // quoted where it has to be
	kind        string // "table", or what else it is
	persistence string // p, u for unlogged, t for temporary
}

// findTables looks through the search_path. pg_identify_object sees what others
// have just committed, like to_regclass and whatever the isolation level; a row
// of pg_class does not, which then only goes unchecked.
func findTables(ctx context.Context, tx pgx.Tx) ([]table, error) {
	const sql = `
select relation, coalesce(found.schema, ''), coalesce(found.type, ''), coalesce(c.relpersistence::text, '')
from unnest(array['relay_leases', 'relay_nodes', 'relay_fences']) with ordinality as ours (relation, n)
left join lateral pg_identify_object('pg_catalog.pg_class'::regclass, to_regclass(relation), 0) as found on true
left join pg_class c on c.oid = to_regclass(relation)
order by n`
	rows, err := tx.Query(ctx, sql, pgx.QueryExecModeExec)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t table, err error) {
		return t, row.Scan(&t.name, &t.schema, &t.kind, &t.persistence)
	})
}

// judgeTables returns the schema of those that are there, empty if none is.
func judgeTables(tables []table) (home string, complete bool, err error) {
	complete, homeless := true, false
	var places []string
	for _, t := range tables {
		if t.schema == "" {
			complete = false
			places = append(places, t.name+" is missing")
			continue
		}
		switch {
		case t.kind != "table":
			return "", false, fmt.Errorf("%s.%s is a %s, not a table", t.schema, t.name, t.kind)
		case t.persistence == "u" && t.name != "relay_nodes":
			return "", false, fmt.Errorf("%[1]s.%[2]s is UNLOGGED: a crash of the server would forget its tokens:"+
				" alter table %[1]s.%[2]s set logged", t.schema, t.name)
		case t.persistence == "t":
			return "", false, fmt.Errorf("%s.%s is a temporary table, which other sessions do not see", t.schema, t.name)
		}
		homeless = homeless || home != "" && home != t.schema
		home = t.schema
		places = append(places, t.name+" is in "+t.schema)
	}
	if !complete && homeless {
		return "", false, fmt.Errorf("the tables are in several schemas: %s:"+
			" create the missing ones from postgres.Schema() where they belong", strings.Join(places, ", "))
	}
	return home, complete, nil
}
