//go:build unix

package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/internal/pgtest"
)

// TestMain makes copies of the test binary the processes that contend.
func TestMain(m *testing.M) {
	if childMain() {
		return
	}
	os.Exit(m.Run())
}

func TestChaos_EveryPromiseIsKeptWhileProcessesSessionsAndTheServerDie(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; make soak runs it for minutes")
	}
	cluster := pgtest.NewCluster(t, asynchronous...)
	report, err := run(t.Context(), settings{
		duration: 4 * time.Second, processes: 3, roles: 2, seed: uint64(time.Now().UnixNano()), url: cluster.DSN(),
	}, cluster)
	require.NoError(t, err)
	t.Log(report.summary())
	require.NoError(t, report.verdict())
	for _, deed := range []string{"kills", "freezes", "terminated sessions", "crashes"} {
		require.NotZero(t, report.deeds[deed], deed)
	}
	counts := map[string]int{}
	report.each(func(_ int, r record) { counts[r.Kind]++ })
	for _, kind := range []string{granted, written, held} {
		require.NotZero(t, counts[kind], kind)
	}
}
