package main_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// A lease in a table is often written by hand, like this: one row for each
// role, one statement that acquires and renews.

const handmadeTable = `
	create table my_leases (
		role       text primary key,
		owner      text not null default '',
		token      bigint not null default 0,
		expires_at timestamptz not null default '-infinity'
	)`

const handmadeAcquire = `
	update my_leases set owner = $1, token = token + 1, expires_at = now() + interval '30 seconds'
	where role = 'writer' and (owner = $1 or expires_at <= now())
	returning token`

// acquireHandmade returns the token, or 0 when the lease was refused.
func acquireHandmade(t *testing.T, pool *pgxpool.Pool, owner string) relay.Token {
	t.Helper()
	rows, err := pool.Query(t.Context(), handmadeAcquire, owner)
	require.NoError(t, err)
	tokens, err := pgx.CollectRows(rows, pgx.RowTo[relay.Token])
	require.NoError(t, err)
	if len(tokens) == 0 {
		return 0
	}
	return tokens[0]
}

func TestHandmadeLease_IsExclusiveAndItsTokenRises(t *testing.T) {
	pool := newTable(t, handmadeTable)
	execute(t, pool, `insert into my_leases (role) values ('writer')`)

	require.EqualValues(t, 1, acquireHandmade(t, pool, "A"))
	require.Zero(t, acquireHandmade(t, pool, "B"), "A's lease lives")
	execute(t, pool, `update my_leases set expires_at = now()`) // 30 s later
	require.EqualValues(t, 2, acquireHandmade(t, pool, "B"))
}

func TestHandmadeLease_UpdateGrantsNothingBeforeTheRowExists(t *testing.T) {
	pool := newTable(t, handmadeTable)
	require.Zero(t, acquireHandmade(t, pool, "A"), "nobody holds it, and nobody ever will: insert the row first")
}

// It raises the token with each renewal. A leader that writes from two
// goroutines, or renews in one and writes in another, then fences itself.
func TestHandmadeLease_RenewalFencesTheLeadersOwnWriteInFlight(t *testing.T) {
	pool := newTable(t, handmadeTable)
	execute(t, pool, `insert into my_leases (role) values ('writer')`)
	var fence relay.Fence

	inFlight := acquireHandmade(t, pool, "A") // a write goes out with this token, slowly
	renewed := acquireHandmade(t, pool, "A")  // A renews in time
	require.NoError(t, fence.Admit(renewed))  // and the next write overtakes the first

	require.ErrorIs(t, fence.Admit(inFlight), relay.ErrStaleToken, "A has led all the time, and is refused")
}

func TestRelayLease_RenewalLeavesTheWriteInFlightAlone(t *testing.T) {
	pool := newDocuments(t)
	leases, err := postgres.NewLeaseStore(pool.Config(), postgres.LeaseStoreConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, leases.Close(context.Background())) })
	var fence relay.Fence

	inFlight, err := leases.TryAcquireOrRenew(t.Context(), "writer", "A", 30*time.Second)
	require.NoError(t, err)
	renewed, err := leases.TryAcquireOrRenew(t.Context(), "writer", "A", 30*time.Second)
	require.NoError(t, err)
	require.NoError(t, fence.Admit(renewed.Token))

	require.NoError(t, fence.Admit(inFlight.Token), "one term, one token")
}

// "owner = $1" lets a restarted process have its lease back at once. It lets
// in a second process of the same name as well.
func TestHandmadeLease_TwoProcessesOfOneNameBothGetIt(t *testing.T) {
	pool := newTable(t, handmadeTable)
	execute(t, pool, `insert into my_leases (role) values ('writer')`)

	require.NotZero(t, acquireHandmade(t, pool, "scheduler"))
	require.NotZero(t, acquireHandmade(t, pool, "scheduler"), "started twice by mistake, and both lead")
}
