package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay"
)

// Both ask who is there in the statement that locks: a standby would grant
// locks of its own, which exclude nobody on the primary.
const (
	tryLockTxSQL = `select pg_is_in_recovery(),
	case when pg_is_in_recovery() then false else pg_try_advisory_xact_lock($1::int8) end`
	lockTxSQL = `select pg_is_in_recovery(),
	case when pg_is_in_recovery() then false else pg_advisory_xact_lock($1::int8) is null end`
)

// TryLockTx takes the named lock for the rest of the transaction, if nobody
// else holds it, and reports whether it did. Commit and rollback free it, and
// so does ROLLBACK TO SAVEPOINT for one that was taken after the savepoint. A
// transaction that holds it gets it again.
//
// It and the session locks of a Locker exclude each other: the key is LockKey.
// Its release wakes nobody; whoever waits with Acquire finds out at its next
// try. It works through a pooler in transaction mode. The connection's
// client_encoding does not matter: a key travels.
//
// From REPEATABLE READ on, a transaction sees the data as of its first
// statement, which can be older than the lock, and not what the last holder has
// committed. So a record that something is done needs a unique key as well.
func TryLockTx(ctx context.Context, tx pgx.Tx, name string) (bool, error) {
	return lockTx(ctx, tx, name, tryLockTxSQL)
}

// LockTx is TryLockTx that waits. It waits inside the server, in the order in
// which the transactions came and seen by the deadlock detector, and holds a
// snapshot meanwhile: CREATE INDEX CONCURRENTLY, among others, waits for it.
// From REPEATABLE READ on that snapshot stays, and is older than the lock.
// When ctx ends first pgx closes the connection, and nothing is held.
func LockTx(ctx context.Context, tx pgx.Tx, name string) error {
	_, err := lockTx(ctx, tx, name, lockTxSQL)
	return err
}

func lockTx(ctx context.Context, tx pgx.Tx, name, sql string) (granted bool, err error) {
	if isNil(tx) {
		return false, errors.New("relay/postgres: lock: the transaction is nil")
	}
	if err := relay.ValidateName(name); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	var standby bool
	// Exec mode prepares nothing, whatever the user's pool does.
	err = tx.QueryRow(ctx, sql, pgx.QueryExecModeExec, LockKey(name)).Scan(&standby, &granted)
	switch {
	case isCode(err, codeNotSupported): // a standby has no serializable transactions
		return false, fmt.Errorf("%w: lock %q: %w", ErrReadOnly, name, err)
	case err != nil:
		return false, wrap(fmt.Sprintf("lock %q", name), err)
	case standby:
		return false, fmt.Errorf("%w: lock %q", ErrReadOnly, name)
	}
	return granted, nil
}

// isNil also finds a nil pointer inside an interface, and a hand-made
// transaction of a pool, on which pgx would panic.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	if tx, ok := v.(*pgxpool.Tx); ok {
		return tx == nil || *tx == (pgxpool.Tx{})
	}
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}
