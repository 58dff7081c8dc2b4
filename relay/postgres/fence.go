package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/relay-samples/relay-go/relay"
)

// AdmitSQL is the statement behind AdmitTx, for those who use database/sql or
// another driver: run it first in the transaction that writes. Arguments: the
// resource as text, the token as a 64-bit integer. It returns one row of one
// column, the highest token that the resource has seen, this one included. If
// that is more than the token, the token is stale: roll back.
//
//	var highest int64
//	err := tx.QueryRowContext(ctx, postgres.AdmitSQL, "ledger", int64(term.Token())).Scan(&highest)
//	if err == nil && highest > int64(term.Token()) {
//		err = relay.ErrStaleToken
//	}
//
// The connection's client_encoding has to be UTF8, as for AdmitTx. The row
// stays locked until the transaction ends: others that write to the
// resource wait for it, and then compare with what it has committed. The commit
// is made synchronous, also where the database defaults to something weaker, so
// that a crash does not forget the token of a write that was acknowledged.
const AdmitSQL = `
with admitted as (
    insert into relay_fences as f (resource, token) values ($1::text, $2::int8)
    on conflict (resource) do update set token = greatest(f.token, excluded.token)
    returning f.token, set_config('synchronous_commit', case current_setting('synchronous_commit')
        when 'remote_apply' then 'remote_apply' else 'on' end, true))
select token from admitted`

// AdmitTx admits a write under a fencing token, inside the transaction that
// carries the write. It locks the resource's row, compares, and remembers the
// token; commit makes both the token and the write count, rollback neither. So
// tokens never fall in the order of the writes, even when a leader is frozen in
// the middle and wakes up.
//
// A token that is lower than the highest seen is a *relay.StaleTokenError,
// which matches relay.ErrStaleToken. The mark stays as it was and the
// transaction can go on; it must not write to the resource. Equal tokens pass.
// A token of 0 or less is relay.ErrInvalidToken.
//
// Until the transaction ends it holds up all others that write to the resource,
// the next leader's too. That is short for one that works, and without end for
// one whose process was frozen in the middle. Let the server bound it: set
// idle_in_transaction_session_timeout, to the TTL of the lease say, on the pool
// that writes.
//
// The connection's client_encoding has to be UTF8, which it is unless the
// connection string, the role or the database says otherwise: pgx sends names
// as they are, and in another encoding one resource would have two marks, and
// each would guard the writers of its encoding alone. A resource that is not
// plain ASCII is refused then.
//
// Under REPEATABLE READ and SERIALIZABLE a transaction that has to wait for
// another one's admission may fail with a serialization error, as anywhere; it
// never admits wrongly. Inside a savepoint that is rolled back the admission is
// gone: what is written after that is no longer guarded.
func AdmitTx(ctx context.Context, tx pgx.Tx, resource string, token relay.Token) error {
	if isNil(tx) {
		return errors.New("relay/postgres: admit: the transaction is nil")
	}
	if err := relay.ValidateName(resource); err != nil {
		return err
	}
	if token <= 0 {
		return fmt.Errorf("relay/postgres: admit to %q: %w: %d", resource, relay.ErrInvalidToken, token)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkEncoding(tx, resource); err != nil {
		return fmt.Errorf("relay/postgres: admit to %q: %w", resource, err)
	}
	var highest relay.Token
	err := tx.QueryRow(ctx, AdmitSQL, pgx.QueryExecModeExec, resource, int64(token)).Scan(&highest)
	if err != nil {
		return wrap(fmt.Sprintf("admit to %q", resource), err)
	}
	if highest > token {
		return fmt.Errorf("relay/postgres: admit to %q: %w", resource,
			&relay.StaleTokenError{Token: token, Highest: highest})
	}
	return nil
}

// checkEncoding is for a name that travels over a connection of the user's.
// SQL_ASCII means that nothing is converted.
func checkEncoding(tx pgx.Tx, name string) error {
	ascii := strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	conn := tx.Conn()
	if ascii || conn == nil {
		return nil
	}
	switch encoding := conn.PgConn().ParameterStatus("client_encoding"); encoding {
	case "", "UTF8", "SQL_ASCII":
		return nil
	default:
		return fmt.Errorf("the connection's client_encoding is %s, and has to be UTF8", encoding)
	}
}
