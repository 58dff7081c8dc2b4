package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/relay-samples/relay-go/relay"
)

// The errors of this package. Each says what to do about it; compare with
// errors.Is, and find the server's own error with errors.As and
// *pgconn.PgError.
var (
	// ErrPooled says that a pooler which shares server sessions stands between
	// the Locker and the server. A lock would stay behind on whichever session
	// the pooler picked, held by nobody in particular.
	ErrPooled = errors.New("relay/postgres: the connection leads to a pooler, and a session lock needs a server session" +
		" of its own: connect to PostgreSQL directly, or set AllowProxy if the proxy pools by session")

	// ErrReadOnly says that the server takes no changes: a standby, or a role
	// or database that defaults to read-only transactions.
	ErrReadOnly = errors.New("relay/postgres: the server is read-only: connect to the primary" +
		" (target_session_attrs=read-write finds it among several hosts)")

	// ErrTooMany says that a Locker holds and awaits as many names as MaxHeld
	// allows. Nothing is held, and it does not match relay.ErrNotAcquired:
	// whether the lock is free is not known.
	ErrTooMany = errors.New("relay/postgres: too many locks are held or awaited: hold fewer, or raise MaxHeld," +
		" within the server's lock table (max_locks_per_transaction × max_connections)")

	// ErrLockTableFull says that the server has no room for one more lock, of
	// whatever kind and of whomever. Nothing is held, and whether the lock is
	// free is not known.
	ErrLockTableFull = errors.New("relay/postgres: the server's lock table is full: raise max_locks_per_transaction" +
		" (the server has to be restarted), or hold fewer locks")

	// ErrTooManyConnections says that the server, or a pooler, takes no more
	// connections, of anybody's or of this role's or database's.
	ErrTooManyConnections = errors.New("relay/postgres: the server takes no more connections: raise max_connections" +
		" or the limit of the role or database, or shrink the pools")

	// ErrNoDeadMan says that the server is older than PostgreSQL 14 and does
	// not end the session of a silent client: the lock of a holder that is
	// frozen or cut off stays for as long as the server's TCP takes to notice,
	// which may be hours. A Locker tells its Observer once, and works.
	ErrNoDeadMan = errors.New("relay/postgres: the server is older than PostgreSQL 14 and keeps the locks of a silent" +
		" client: upgrade it, or count on its TCP settings alone")

	// ErrNoTables says that a table of this package is missing.
	ErrNoTables = errors.New("relay/postgres: a table is missing: run postgres.Migrate once," +
		" and see that search_path finds its tables")
)

// SQLSTATE codes that callers act on.
const (
	codeNoSuchStatement    = "26000"
	codeLockTimeout        = "55P03"
	codeReadOnly           = "25006"
	codeNotSupported       = "0A000"
	codeUndefinedTable     = "42P01"
	codeOutOfMemory        = "53200" // "out of shared memory": the lock table
	codeTooManyConnections = "53300"
)

func isCode(err error, code string) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == code
}

// isStalePlan says that what was prepared is no good any more: the server does
// not know it, or its tables have changed. Nothing was done, and once more will
// do.
func isStalePlan(err error) bool {
	return isCode(err, codeNoSuchStatement) || isCode(err, codeNotSupported)
}

// wrap says what was tried, and adds the sentinel that tells what to do about
// a server's error where there is one.
func wrap(what string, err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code {
		case codeReadOnly:
			return fmt.Errorf("%w: %s: %w", ErrReadOnly, what, err)
		case codeUndefinedTable:
			return fmt.Errorf("%w: %s: %w", ErrNoTables, what, err)
		case codeOutOfMemory:
			if !strings.Contains(refused.Hint, "max_locks_per_transaction") { // in whatever language
				break
			}
			return fmt.Errorf("%w: %s: %w", ErrLockTableFull, what, err)
		case codeTooManyConnections:
			return fmt.Errorf("%w: %s: %w", ErrTooManyConnections, what, err)
		}
	}
	return fmt.Errorf("relay/postgres: %s: %w", what, err)
}

func errClosed(what string) error {
	return fmt.Errorf("relay/postgres: %s: %w", what, relay.ErrClosed)
}
