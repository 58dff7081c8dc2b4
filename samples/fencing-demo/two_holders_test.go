package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What happens when a lock fails now and then? That decides which kind of lock
// it is. In both tests A pauses within its work, and B does the same work.

func TestTwoHolders_OfALockForEfficiencyWasteWork(t *testing.T) {
	at, leases := newLeases()
	var cache string
	renderings := 0
	refresh := func() {
		renderings++
		cache = "today's page"
	}

	acquire(t, leases, "A")
	at(pause) // before A renders
	acquire(t, leases, "B")
	refresh() // B's
	refresh() // A's

	require.Equal(t, "today's page", cache, "the cache is right")
	require.Equal(t, 2, renderings, "and was rendered once too often: that is all")
}

func TestTwoHolders_OfALockForCorrectnessLoseMoney(t *testing.T) {
	at, leases := newLeases()
	balance := 100
	deposit := func(seen, amount int) { balance = seen + amount }

	acquire(t, leases, "A")
	seenByA := balance
	at(pause) // A has read and has not written
	acquire(t, leases, "B")
	deposit(balance, 50) // B's
	deposit(seenByA, 10) // A's

	require.Equal(t, 110, balance, "100 + 50 + 10 would be 160: B's deposit is gone")
}
