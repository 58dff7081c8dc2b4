package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestNodeRegistry_AHeartbeatForgetsNodesThatHaveLongBeenSilent(t *testing.T) {
	db := newMigratedDatabase(t)
	registry := db.registry(t, "group", time.Minute)
	require.NoError(t, registry.Heartbeat(t.Context(), "old"))
	require.NoError(t, db.registry(t, "other group", time.Minute).Heartbeat(t.Context(), "old"))
	const nodes = "select string_agg(group_name || '/' || node, ' ' order by group_name, node) from relay_nodes"
	db.exec(t, "update relay_nodes set beat_at = beat_at - interval '9 minutes'")
	require.NoError(t, registry.Heartbeat(t.Context(), "new"))
	require.Equal(t, "group/new group/old other group/old", query[string](t, db, nodes), "not before ten TTLs")
	db.exec(t, "update relay_nodes set beat_at = beat_at - interval '1 minute'")
	require.NoError(t, registry.Heartbeat(t.Context(), "new"))
	require.Equal(t, "group/new other group/old", query[string](t, db, nodes), "other groups are left alone")
}

func TestNodeRegistry_NodesThatForgetEachOtherDoNotDeadlock(t *testing.T) {
	db := newMigratedDatabase(t)
	var nodes sync.WaitGroup
	for i := range 6 {
		registry := db.registry(t, "group", time.Millisecond)
		nodes.Go(func() {
			for n := range 40 {
				// Each row is silent for ten TTLs again and again, for somebody.
				if err := registry.Heartbeat(t.Context(), fmt.Sprint("node ", (i+n)%6)); err != nil {
					t.Errorf("heartbeat: %v", err)
				}
				if n%10 == 9 {
					db.sleep(t, 12*time.Millisecond)
				}
			}
		})
	}
	nodes.Wait()
}

func TestNewNodeRegistry_RefusesBadInput(t *testing.T) {
	cfg, err := pgxpool.ParseConfig("postgres://localhost/db")
	require.NoError(t, err)
	_, err = postgres.NewNodeRegistry(cfg, "", 0, postgres.NodeRegistryConfig{})
	require.ErrorIs(t, err, relay.ErrInvalidName)
	for _, ttl := range []time.Duration{-1, time.Microsecond, 90_000 * time.Hour} {
		_, err = postgres.NewNodeRegistry(cfg, "group", ttl, postgres.NodeRegistryConfig{})
		require.ErrorIs(t, err, relay.ErrInvalidTTL)
	}
}

func TestNodeRegistry_UsesOneSession(t *testing.T) {
	db := newMigratedDatabase(t)
	registry := db.registry(t, "group", 0)
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			if err := registry.Heartbeat(t.Context(), "node"); err != nil {
				t.Errorf("heartbeat: %v", err)
			}
		})
	}
	calls.Wait()
	require.Equal(t, 1, db.sessions(t))
	require.NoError(t, registry.Close(t.Context()))
	require.Zero(t, db.sessions(t))
}
