package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

const resource = "ledger"

func (d *database) admit(t testing.TB, token relay.Token) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), d.pool, func(tx pgx.Tx) error {
		return postgres.AdmitTx(t.Context(), tx, resource, token)
	})
}

func (d *database) mark(t testing.TB) relay.Token {
	t.Helper()
	return query[relay.Token](t, d, "select token from relay_fences where resource = $1", resource)
}

func TestAdmitTx_EqualTokensPassAndLowerOnesDoNot(t *testing.T) {
	db := newMigratedDatabase(t)
	require.NoError(t, db.admit(t, 7))
	require.NoError(t, db.admit(t, 7), "a leader writes more than once")
	require.NoError(t, db.admit(t, 9))
	var stale *relay.StaleTokenError
	require.ErrorAs(t, db.admit(t, 8), &stale)
	require.Equal(t, relay.StaleTokenError{Token: 8, Highest: 9}, *stale)
	require.ErrorIs(t, stale, relay.ErrStaleToken)
	for _, token := range []relay.Token{0, -1} {
		require.ErrorIs(t, db.admit(t, token), relay.ErrInvalidToken)
	}
	require.NoError(t, db.admit(t, relay.MaxToken))
}

func TestAdmitTx_ARefusalLeavesTheMarkAndTheTransactionUsable(t *testing.T) {
	db := newMigratedDatabase(t)
	require.NoError(t, db.admit(t, 9))
	tx := db.begin(t, pgx.TxOptions{})
	require.ErrorIs(t, postgres.AdmitTx(t.Context(), tx, resource, 7), relay.ErrStaleToken)
	require.NoError(t, postgres.AdmitTx(t.Context(), tx, "another resource", 1))
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, relay.Token(9), db.mark(t))
}

func TestAdmitTx_RollbackUndoesItWithTheWrite(t *testing.T) {
	db := newMigratedDatabase(t)
	require.NoError(t, db.admit(t, 5))
	tx := db.begin(t, pgx.TxOptions{})
	require.NoError(t, postgres.AdmitTx(t.Context(), tx, resource, 6))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, relay.Token(5), db.mark(t))
}

// The one that comes second waits, whatever its token, and is judged by what
// the first has committed.
func TestAdmitTx_AWriterWaitsForTheOneBeforeIt(t *testing.T) {
	all := newDatabase(t)
	for why, known := range map[string]bool{"a resource that is known": true, "a resource that is new to both": false} {
		t.Run(why, func(t *testing.T) {
			db := all.schema(t)
			if known {
				require.NoError(t, db.admit(t, 1))
			}
			for _, c := range []struct {
				first, second relay.Token
				stale         bool
			}{{9, 8, true}, {10, 10, false}, {11, 12, false}} {
				first, second := db.begin(t, pgx.TxOptions{}), db.begin(t, pgx.TxOptions{})
				require.NoError(t, postgres.AdmitTx(t.Context(), first, resource, c.first))
				waiting := async(func() error { return postgres.AdmitTx(t.Context(), second, resource, c.second) })
				db.awaitBlocked(t)
				require.NoError(t, first.Commit(t.Context()))
				err := <-waiting
				require.Equal(t, c.stale, errors.Is(err, relay.ErrStaleToken), "token %d after %d: %v", c.second, c.first, err)
				require.Equal(t, c.stale, err != nil)
				require.NoError(t, second.Commit(t.Context()))
				require.Equal(t, max(c.first, c.second), db.mark(t))
			}
		})
	}
}

func TestAdmitTx_AnOldSnapshotNeverAdmitsWrongly(t *testing.T) {
	all := newDatabase(t)
	for _, isolation := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		for why, known := range map[string]bool{"known": true, "new": false} {
			t.Run(string(isolation)+", a resource that is "+why, func(t *testing.T) {
				db := all.schema(t)
				if known {
					require.NoError(t, db.admit(t, 1))
				}
				old := db.begin(t, pgx.TxOptions{IsoLevel: isolation})
				_, err := old.Exec(t.Context(), "select count(*) from relay_fences") // takes the snapshot
				require.NoError(t, err)
				require.NoError(t, db.admit(t, 9))

				err = postgres.AdmitTx(t.Context(), old, resource, 7)
				require.Error(t, err, "9 has been admitted, which this transaction can't see")
				var failed *pgconn.PgError
				if errors.As(err, &failed) {
					require.Equal(t, "40001", failed.Code)
				} else {
					require.ErrorIs(t, err, relay.ErrStaleToken)
				}
				_ = old.Rollback(t.Context())
				require.Equal(t, relay.Token(9), db.mark(t))
			})
		}
	}
}

func TestAdmitTx_ASavepointThatIsRolledBackForgetsIt(t *testing.T) {
	db := newMigratedDatabase(t)
	tx := db.begin(t, pgx.TxOptions{})
	savepoint, err := tx.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, postgres.AdmitTx(t.Context(), savepoint, resource, 9))
	require.NoError(t, savepoint.Rollback(t.Context()))
	require.NoError(t, db.admit(t, 7), "nothing guards any more; documented")
}

func TestAdmitTx_TheCommitIsSynchronousAndNotWeakened(t *testing.T) {
	db := newMigratedDatabase(t)
	for before, after := range map[string]string{
		"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply",
	} {
		tx := db.begin(t, pgx.TxOptions{})
		_, err := tx.Exec(t.Context(), "set synchronous_commit = "+before)
		require.NoError(t, err)
		require.NoError(t, postgres.AdmitTx(t.Context(), tx, resource, 7))
		var got string
		require.NoError(t, tx.QueryRow(t.Context(), "show synchronous_commit").Scan(&got))
		require.Equal(t, after, got, "after %s", before)
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

func TestAdmitSQL_ServesDatabaseSQL(t *testing.T) {
	db := newMigratedDatabase(t)
	pool, err := sql.Open("pgx", db.dsn)
	require.NoError(t, err)
	defer pool.Close()
	for _, c := range []struct{ token, highest int64 }{{33, 33}, {34, 34}, {33, 34}} {
		tx, err := pool.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		var highest int64
		require.NoError(t, tx.QueryRowContext(t.Context(), postgres.AdmitSQL, resource, c.token).Scan(&highest))
		require.Equal(t, c.highest, highest)
		require.NoError(t, tx.Commit())
	}
}

func TestAdmitTx_AConnectionInAnotherEncodingIsRefusedWhereItMatters(t *testing.T) {
	db := newMigratedDatabase(t)
	conn, err := pgx.ConnectConfig(t.Context(), db.strangeConfig(t).ConnConfig)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, postgres.AdmitTx(t.Context(), tx, "Büro", 7), "client_encoding is LATIN1")
	require.NoError(t, postgres.AdmitTx(t.Context(), tx, resource, 7), "ASCII is the same in all")
	require.NoError(t, tx.Commit(t.Context()))
	require.ErrorIs(t, db.admit(t, 6), relay.ErrStaleToken)
}
