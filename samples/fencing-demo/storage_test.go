package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

// A lock that asks before it writes is no safer than one that does not: the
// pause falls between the question and the write. Only the check that is one
// step with the write is in time.
func TestStorage_AskingBeforeTheWriteDoesNotHelpTheFenceDoes(t *testing.T) {
	for name, c := range map[string]struct {
		storage storage
		final   string
	}{
		"without a fence A overwrites B's update":     {&plainStorage{}, "A's stale update"},
		"with a fence A is refused, B's update stays": {&fencedStorage{}, "B's update"},
	} {
		t.Run(name, func(t *testing.T) {
			at, leases := newLeases()
			a := acquire(t, leases, "A")

			held, err := leases.Current(t.Context(), role)
			require.NoError(t, err)
			require.Equal(t, a, held, "A asks right before it writes: yes, it holds the lock")

			at(pause) // and pauses before the write is sent
			b := acquire(t, leases, "B")
			require.NoError(t, c.storage.write(b.Token, "B's update"))

			err = c.storage.write(a.Token, "A's stale update")
			if _, fenced := c.storage.(*fencedStorage); fenced {
				require.ErrorIs(t, err, relay.ErrStaleToken, "token %d after %d: a fence never goes back", a.Token, b.Token)
			} else {
				require.NoError(t, err, "nobody stops the stale write")
			}
			require.Equal(t, c.final, c.storage.read())
		})
	}
}

func TestStorage_LeaderWritesMoreThanOnce(t *testing.T) {
	fenced := &fencedStorage{}
	require.NoError(t, fenced.write(33, "first"))
	require.NoError(t, fenced.write(33, "second"), "an equal token passes")
	require.Equal(t, "second", fenced.read())
}

// The highest token is a part of the data. A storage that keeps the value and
// forgets the token, in a restart say, is a storage without a fence.
func TestStorage_FenceThatForgetsItsTokenLetsTheStaleWriteIn(t *testing.T) {
	kept := &fencedStorage{}
	require.NoError(t, kept.write(36, "B's update"))
	require.ErrorIs(t, kept.write(35, "A's stale update"), relay.ErrStaleToken)

	restarted := &fencedStorage{value: kept.read()} // the value was on disk, the token was not
	require.NoError(t, restarted.write(35, "A's stale update"), "nobody remembers token 36")
	require.Equal(t, "A's stale update", restarted.read())
}
