package main_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// newDocuments returns a database with the user's own table, which holds one
// document, and Relay's tables beside it.
func newDocuments(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := newTable(t, `
		create table documents (id int primary key, value text not null, fencing_token bigint not null default 0);
		insert into documents (id, value) values (1, 'initial')`)
	require.NoError(t, postgres.Migrate(t.Context(), pool))
	return pool
}

func documentValue(t *testing.T, pool *pgxpool.Pool, id int) string {
	t.Helper()
	var value string
	require.NoError(t, pool.QueryRow(t.Context(), "select value from documents where id = $1", id).Scan(&value))
	return value
}

// The first way: Relay keeps the highest token in a table of its own, and the
// check is part of the transaction that writes.

func writeFenced(ctx context.Context, pool *pgxpool.Pool, token relay.Token, value string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := postgres.AdmitTx(ctx, tx, "documents/1", token); err != nil {
			return err // BeginFunc rolls back
		}
		_, err := tx.Exec(ctx, "update documents set value = $1 where id = 1", value)
		return err
	})
}

func TestAdmitTx_RefusesTheStaleWriteAndLeavesTheRow(t *testing.T) {
	pool := newDocuments(t)
	require.NoError(t, writeFenced(t.Context(), pool, 36, "B's update"))

	err := writeFenced(t.Context(), pool, 35, "A's stale update")
	require.ErrorIs(t, err, relay.ErrStaleToken, "token 35 after 36: a fence never goes back")
	var stale *relay.StaleTokenError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, relay.StaleTokenError{Token: 35, Highest: 36}, *stale, "the refusal tells both tokens")
	require.Equal(t, "B's update", documentValue(t, pool, 1), "the refused write changed nothing")
}

func TestAdmitTx_LeaderWritesMoreThanOnce(t *testing.T) {
	pool := newDocuments(t)
	require.NoError(t, writeFenced(t.Context(), pool, 36, "B's update"))
	require.NoError(t, writeFenced(t.Context(), pool, 36, "B's second update"), "an equal token passes")
	require.Equal(t, "B's second update", documentValue(t, pool, 1))
}

// The twin: the check in a transaction of its own, and then the write. Between
// the two A pauses, and its stale write gets through.
func TestAdmitTx_InATransactionOfItsOwnDoesNotProtectTheWrite(t *testing.T) {
	pool := newDocuments(t)
	ctx := t.Context()
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		return postgres.AdmitTx(ctx, tx, "documents/1", 35) // A is still the leader
	}))

	require.NoError(t, writeFenced(ctx, pool, 36, "B's update")) // while A pauses

	_, err := pool.Exec(ctx, "update documents set value = $1 where id = 1", "A's stale update")
	require.NoError(t, err)
	require.Equal(t, "A's stale update", documentValue(t, pool, 1), "a check apart from the write stops nobody")
}

// The price: until A's transaction ends it holds up B's writes, and a frozen A
// ends nothing. The server has to, after a time that the pool asks for.
func TestAdmitTx_FrozenTransactionHoldsUpItsSuccessorUntilTheServerEndsIt(t *testing.T) {
	pool := newDocuments(t)
	frozen := pool.Config()
	frozen.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "200" // ms; use the lease's TTL
	poolA, err := pgxpool.NewWithConfig(t.Context(), frozen)
	require.NoError(t, err)
	t.Cleanup(poolA.Close)

	tx, err := poolA.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, postgres.AdmitTx(t.Context(), tx, "documents/1", 35))
	_, err = tx.Exec(t.Context(), "update documents set value = $1 where id = 1", "A's update")
	require.NoError(t, err)
	// A freezes here, before its commit.

	require.NoError(t, writeFenced(t.Context(), pool, 36, "B's update"), "B waits for A's transaction, and then writes")
	require.Error(t, tx.Commit(t.Context()), "A wakes up: its transaction is gone")
	require.Equal(t, "B's update", documentValue(t, pool, 1))
}

// The second way: the user's own row carries the token, and the write itself
// compares. There is nothing to install; each table that is written needs the
// column.

func writeWithTokenColumn(ctx context.Context, pool *pgxpool.Pool, token relay.Token, value string) error {
	tag, err := pool.Exec(ctx, `
		update documents set value = $2, fencing_token = $1
		where id = 1 and fencing_token <= $1`, token, value)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 { // no such row, or a later leader has written it
		return fmt.Errorf("document 1: %w", relay.ErrStaleToken)
	}
	return nil
}

func TestTokenColumn_RefusesTheStaleWriteAndLeavesTheRow(t *testing.T) {
	pool := newDocuments(t)
	require.NoError(t, writeWithTokenColumn(t.Context(), pool, 35, "A's update"))
	require.NoError(t, writeWithTokenColumn(t.Context(), pool, 36, "B's update"))

	require.ErrorIs(t, writeWithTokenColumn(t.Context(), pool, 35, "A's stale update"), relay.ErrStaleToken,
		"token 35 after 36: a fence never goes back")
	require.Equal(t, "B's update", documentValue(t, pool, 1), "the refused write changed nothing")
}

func TestTokenColumn_LeaderWritesMoreThanOnce(t *testing.T) {
	pool := newDocuments(t)
	require.NoError(t, writeWithTokenColumn(t.Context(), pool, 36, "B's update"))
	require.NoError(t, writeWithTokenColumn(t.Context(), pool, 36, "B's second update"), "an equal token passes")
	require.Equal(t, "B's second update", documentValue(t, pool, 1))
}

// The twin: with < in place of <= the leader fences itself.
func TestTokenColumn_WithLessThanTheLeaderCannotWriteTwice(t *testing.T) {
	pool := newDocuments(t)
	writes := func(token relay.Token, value string) int64 {
		tag, err := pool.Exec(t.Context(), `
			update documents set value = $2, fencing_token = $1
			where id = 1 and fencing_token < $1`, token, value)
		require.NoError(t, err)
		return tag.RowsAffected()
	}
	require.EqualValues(t, 1, writes(36, "B's update"))
	require.Zero(t, writes(36, "B's second update"), "the leader's second write is taken for a stale one")
	require.Equal(t, "B's update", documentValue(t, pool, 1))
}

// The first write may have to make the row. An upsert checks an old row and
// makes a new one in a single statement.

func upsertWithTokenColumn(ctx context.Context, pool *pgxpool.Pool, token relay.Token, id int, value string) error {
	tag, err := pool.Exec(ctx, `
		insert into documents as d (id, value, fencing_token) values ($2, $3, $1)
		on conflict (id) do update set value = excluded.value, fencing_token = excluded.fencing_token
		where d.fencing_token <= excluded.fencing_token`, token, id, value)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 { // there is a row, and a later leader has written it
		return fmt.Errorf("document %d: %w", id, relay.ErrStaleToken)
	}
	return nil
}

func TestTokenColumn_UpsertMakesTheRowAndFencesIt(t *testing.T) {
	pool := newDocuments(t)
	require.NoError(t, upsertWithTokenColumn(t.Context(), pool, 36, 2, "B's new document"))
	require.ErrorIs(t, upsertWithTokenColumn(t.Context(), pool, 35, 2, "A's stale update"), relay.ErrStaleToken)
	require.NoError(t, upsertWithTokenColumn(t.Context(), pool, 36, 2, "B's second update"), "an equal token passes")
	require.Equal(t, "B's second update", documentValue(t, pool, 2))
}

// What the two ways differ in: a column fences its row alone, a name of AdmitTx
// whatever you let it stand for.

func TestTokenColumn_GuardsEachRowByItself(t *testing.T) {
	pool := newDocuments(t)
	require.NoError(t, upsertWithTokenColumn(t.Context(), pool, 36, 1, "B's update"))

	require.NoError(t, upsertWithTokenColumn(t.Context(), pool, 35, 2, "A's stale update"), "row 2 has heard of no higher token")
}

func TestAdmitTx_GuardsEveryRowThatItsNameStandsFor(t *testing.T) {
	pool := newDocuments(t)
	write := func(token relay.Token, id int, value string) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if err := postgres.AdmitTx(t.Context(), tx, "documents", token); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `insert into documents values ($1, $2)
				on conflict (id) do update set value = excluded.value`, id, value)
			return err
		})
	}
	require.NoError(t, write(36, 1, "B's update"))

	require.ErrorIs(t, write(35, 2, "A's stale update"), relay.ErrStaleToken, "B has written a document, so A writes none")
}
