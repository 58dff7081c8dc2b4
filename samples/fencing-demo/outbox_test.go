package main_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// An outbox turns a call of somebody else's service into a row of your own. It
// is written by the transaction that does the work, so it is fenced as all the
// rest is, and unique by its key. A sender reads it later, and passes the key on
// to the provider.

func newOutbox(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := newTable(t, `create table outbox (key text primary key, mail text not null)`)
	require.NoError(t, postgres.Migrate(t.Context(), pool))
	return pool
}

func queueMail(ctx context.Context, pool *pgxpool.Pool, token relay.Token, key, mail string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := postgres.AdmitTx(ctx, tx, "invoices", token); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into outbox values ($1, $2) on conflict do nothing`, key, mail)
		return err
	})
}

func TestOutbox_StaleLeaderQueuesNoMail(t *testing.T) {
	pool := newOutbox(t)
	require.NoError(t, queueMail(t.Context(), pool, 36, "invoice/ada", "from B"))

	require.ErrorIs(t, queueMail(t.Context(), pool, 35, "invoice/bob", "from A, who was paused"), relay.ErrStaleToken)
	require.Equal(t, 1, number(t, pool, `select count(*) from outbox`), "the provider checks no token; the outbox does")
}

// The fence does not see this one: both leaders are the rightful one when they
// write, and the second does over again what the first had done.
func TestOutbox_NextLeaderQueuesTheSameMailOnce(t *testing.T) {
	pool := newOutbox(t)
	require.NoError(t, queueMail(t.Context(), pool, 35, "invoice/ada", "from A"))
	require.NoError(t, queueMail(t.Context(), pool, 36, "invoice/ada", "from B, who starts from the top"))

	require.Equal(t, 1, number(t, pool, `select count(*) from outbox`), "the unique key is the referee")
}
