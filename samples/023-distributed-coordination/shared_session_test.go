package coordination_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestSessionLock_AHundredOfThemCostOneConnection(t *testing.T) {
	db := newDatabase(t)
	locker := db.newLocker(t, func(cfg *postgres.LockerConfig) { cfg.ApplicationName = "exporter" })

	for i := range 100 {
		hold(t, locker, fmt.Sprintf("export/%d", i))
	}

	var connections int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `
		select count(*) from pg_stat_activity
		where application_name = 'exporter' and datname = current_database()`).Scan(&connections))
	require.Equal(t, 1, connections, "the locks of a Locker share its session")
}

// What that costs: they share its fate too.
func TestSessionLock_LocksOfOneLockerAreLostTogether(t *testing.T) {
	db := newDatabase(t)
	locker, another := db.newLocker(t), db.newLocker(t)
	first, second := hold(t, locker, export), hold(t, locker, "nightly-import")
	apart := hold(t, another, "weekly-digest")

	db.killSessionOf(t, export)

	<-first.Lost()
	<-second.Lost()
	require.False(t, lost(apart), "what must not share a fate takes a Locker of its own")
}

func TestSessionLock_ItsHolderCanBeFound(t *testing.T) {
	db := newDatabase(t)
	a := db.newLocker(t, func(cfg *postgres.LockerConfig) { cfg.ApplicationName = "instance-a" })
	hold(t, a, export)

	holders, err := db.newLocker(t).Holders(t.Context(), export)

	require.NoError(t, err)
	require.Len(t, holders, 1)
	require.Equal(t, "instance-a", holders[0].Application, "any instance can ask who it is that holds the lock")
	require.Positive(t, holders[0].PID, "and the number that pg_terminate_backend takes")
}
