package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/postgres"
)

// The vectors are fixed for ever: versions of a program run side by side, and
// programs in other languages may take the same locks.
func TestLockKey_NeverChanges(t *testing.T) {
	const base int64 = 5498687659444273152 // "LOCK" in the high half
	for name, hash := range map[string]int64{
		"":                     0x811C9DC5, // no name, but FNV's own first vector
		"a":                    0xE40C292C,
		"foobar":               0xBF9CF968,
		"job":                  0xDDD42FDC,
		"leader:nightly-job":   0xA393E3F5,
		"ключ/鍵/🔑":             0xB7BFC3EA,
		"caf\u00e9":            0xA82B5049,
		"cafe\u0301":           0xD6DD9437,
		"a name with\nnewline": 0x18C8201F,
	} {
		require.Equal(t, base+hash, postgres.LockKey(name), "the key of %q", name)
	}
}

func TestLockKey_DoesNotAllocate(t *testing.T) {
	name := "leader:nightly-job"
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = postgres.LockKey(name) }))
}
