package coordination_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

// When not to use a lock: what one does to requests, what it is not, and what
// does the job without one.

func TestRequests_BehindOneLockAreServedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := memory.NewLocker()
		request := func(context.Context) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		}

		free := timeOfTen(t, func() error { return request(t.Context()) })
		locked := timeOfTen(t, func() error { return relay.WithLock(t.Context(), locker, "requests", request) })

		require.Equal(t, 100*time.Millisecond, free, "ten requests at once take as long as one")
		require.Equal(t, time.Second, locked, "behind a lock the whole cluster has one worker")
	})
}

// timeOfTen returns how long ten requests take that come at the same moment.
func timeOfTen(t *testing.T, serve func() error) time.Duration {
	t.Helper()
	began, served := time.Now(), make(chan error)
	for range 10 {
		go func() { served <- serve() }()
	}
	for range 10 {
		require.NoError(t, <-served)
	}
	return time.Since(began)
}

func TestQueue_SkipLockedGivesEachWorkerARowOfItsOwn(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, `create table jobs (id int primary key)`)
	db.execute(t, `insert into jobs values (1), (2)`)
	take := func(tx pgx.Tx) (id int) {
		err := tx.QueryRow(t.Context(), `select id from jobs order by id limit 1 for update skip locked`).Scan(&id)
		require.NoError(t, err)
		return id
	}

	a, b := db.begin(t), db.begin(t)

	require.Equal(t, 1, take(a))
	require.Equal(t, 2, take(b), "the second worker passes over the row that the first one works on")
}

func TestVersionColumn_RefusesTheSecondOfTwoWriters(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, `create table accounts (balance int, version int)`)
	db.execute(t, `insert into accounts values (100, 1)`)
	write := func(balance, readVersion int) (written bool) {
		tag, err := db.Pool.Exec(t.Context(),
			`update accounts set balance = $1, version = version + 1 where version = $2`, balance, readVersion)
		require.NoError(t, err)
		return tag.RowsAffected() == 1
	}

	require.True(t, write(90, 1))
	require.False(t, write(80, 1), "it read what the first has changed since: it reads again and decides anew")
	require.True(t, write(70, 2))
}

func TestLock_IsNoTransaction(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, `create table entries (amount int)`)
	crash := errors.New("crashed between two writes")

	err := relay.WithLock(t.Context(), db.newLocker(t), "accounts", func(context.Context) error {
		db.execute(t, `insert into entries values (-10)`)
		return crash // before the +10
	})
	require.ErrorIs(t, err, crash)
	require.Equal(t, 1, db.count(t, "entries"), "the lock is free again, and half of the work is there to stay")

	db.execute(t, `truncate entries`)
	err = pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `insert into entries values (-10)`)
		return errors.Join(err, crash)
	})
	require.ErrorIs(t, err, crash)
	require.Zero(t, db.count(t, "entries"), "a transaction leaves nothing of it")
}
