//go:build unix

package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestLeaseStore_WaitingThroughAPoolerIsRefusedBeforeAnythingIsSetThere(t *testing.T) {
	db := newMigratedDatabase(t)
	store := newLeases(t, db.pgbouncer(t, "transaction"), postgres.LeaseStoreConfig{})
	lease := grant(t, store, "owner", time.Hour)
	require.ErrorIs(t, store.WaitReleased(t.Context(), role), postgres.ErrPooled)
	bySession := newLeases(t, db.pgbouncer(t, "session"), postgres.LeaseStoreConfig{})
	require.ErrorIs(t, bySession.WaitReleased(t.Context(), role), postgres.ErrPooled, "it can't be told from the other")
	require.Zero(t, db.locks(t))

	direct := db.leases(t, postgres.LeaseStoreConfig{})
	woken := db.await(t, direct, role)
	require.NoError(t, store.Release(t.Context(), lease), "who releases may be behind a pooler")
	require.NoError(t, <-woken)
	list, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
}
