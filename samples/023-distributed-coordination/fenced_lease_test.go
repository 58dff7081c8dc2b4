package coordination_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// The same election, with a renewable lease instead of a lock: the lease is a
// row, its token rises with each grant, and the write carries the token. Sample
// 030 has all about leases, without a database.

// writeReport writes under a token, in the transaction that checks it.
func (d *Database) writeReport(ctx context.Context, token relay.Token, text string) error {
	return pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error {
		if err := postgres.AdmitTx(ctx, tx, "report", token); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `update report set text = $1`, text)
		return err
	})
}

func (d *Database) report(t *testing.T) (text string) {
	t.Helper()
	require.NoError(t, d.Pool.QueryRow(t.Context(), `select text from report`).Scan(&text))
	return text
}

// newFencedElector has a TTL of 1 s, since here the database's clock decides
// and a test can't move it.
func newFencedElector(t *testing.T, leases relay.LeaseStore, name string) *relay.LeaseElector {
	t.Helper()
	elector, err := relay.NewLeaseElector(leases, relay.LeaseElectorConfig{Owner: name, TTL: time.Second})
	require.NoError(t, err)
	return elector
}

func TestFencedElection_TokensRiseAcrossInstances(t *testing.T) {
	db := newDatabase(t)

	var tokens []relay.Token
	for _, name := range []string{"node-a", "node-b", "node-a"} {
		elector := newFencedElector(t, db.newLeaseStore(t), name)
		require.NoError(t, elector.Run(t.Context(), "reports", func(_ context.Context, term relay.Term) error {
			tokens = append(tokens, term.Token())
			return nil
		}))
	}

	require.Equal(t, []relay.Token{1, 2, 3}, tokens, "the row outlives the leases: each term has a higher token than all before")
}

func TestFencedElection_StalledLeaderIsTakenOverAndItsLateWriteIsFenced(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, `create table report (text text)`)
	db.execute(t, `insert into report values ('')`)
	link := &stallingStore{LeaseStore: db.newLeaseStore(t)}
	a, b := newFencedElector(t, link, "node-a"), newFencedElector(t, db.newLeaseStore(t), "node-b")

	running, stop := context.WithCancel(t.Context())
	err := a.Run(running, "reports", func(ctx context.Context, termA relay.Term) error {
		defer stop()
		require.NoError(t, db.writeReport(ctx, termA.Token(), "a's"))
		link.stalled.Store(true) // from here on node-a renews nothing

		errB := b.Run(t.Context(), "reports", func(ctx context.Context, termB relay.Term) error {
			require.Greater(t, termB.Token(), termA.Token(), "node-b takes over, though node-a lives")
			require.False(t, termA.Valid(), "by then node-a's own clock has ended its term")
			return db.writeReport(ctx, termB.Token(), "b's")
		})
		require.NoError(t, errB)

		late := db.writeReport(t.Context(), termA.Token(), "a's stale update") // node-a wakes up
		require.ErrorIs(t, late, relay.ErrStaleToken, "the database refuses a token that is lower than the highest seen")
		require.Equal(t, "b's", db.report(t))
		return late
	})
	require.ErrorIs(t, err, context.Canceled)
}

// stallingStore answers nothing while its instance is stalled.
type stallingStore struct {
	relay.LeaseStore
	stalled atomic.Bool
}

func (s *stallingStore) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	if s.stalled.Load() {
		<-ctx.Done()
		return relay.Lease{}, ctx.Err()
	}
	return s.LeaseStore.TryAcquireOrRenew(ctx, role, owner, ttl)
}
