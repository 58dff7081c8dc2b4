package main_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/internal/pgtest"
)

// Much that is asked of a lock the database does better, for one row: it is the
// referee. Beside each way stands what it replaces: look first, then write.
// That goes wrong without any pause. A and B are two instances.

func newTable(t *testing.T, ddl string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	execute(t, pool, ddl)
	return pool
}

// execute returns how many rows the statement has changed.
func execute(t *testing.T, pool *pgxpool.Pool, sql string) int64 {
	t.Helper()
	tag, err := pool.Exec(t.Context(), sql)
	require.NoError(t, err)
	return tag.RowsAffected()
}

func number(t *testing.T, pool *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func TestUniqueKey_OneOfTwoInstancesRunsTheJob(t *testing.T) {
	pool := newTable(t, `create table runs (job text, day date, unique (job, day))`)
	const claim = `insert into runs values ('report', '2026-03-01') on conflict do nothing`

	require.EqualValues(t, 1, execute(t, pool, claim), "A may run it")
	require.Zero(t, execute(t, pool, claim), "B may not: the row is there")
}

func TestUniqueKey_WithoutItBothInstancesRunTheJob(t *testing.T) {
	pool := newTable(t, `create table runs (job text, day date)`)
	const look = `select count(*) from runs where job = 'report' and day = '2026-03-01'`
	const claim = `insert into runs values ('report', '2026-03-01')`

	seenByA, seenByB := number(t, pool, look), number(t, pool, look)
	for _, seen := range []int{seenByA, seenByB} {
		require.Zero(t, seen, "it has not run today")
		execute(t, pool, claim)
	}
	require.Equal(t, 2, number(t, pool, look), "the report has run twice")
}

func TestConditionalUpdate_SellsTheLastTicketOnce(t *testing.T) {
	pool := newTable(t, `create table shows (free int); insert into shows values (1)`)
	const sell = `update shows set free = free - 1 where free > 0`

	require.EqualValues(t, 1, execute(t, pool, sell), "A has sold it")
	require.Zero(t, execute(t, pool, sell), "B has not: the condition is a part of the write")
}

func TestConditionalUpdate_WithoutTheConditionTheLastTicketIsSoldTwice(t *testing.T) {
	pool := newTable(t, `create table shows (free int); insert into shows values (1)`)
	const look = `select free from shows`

	seenByA, seenByB := number(t, pool, look), number(t, pool, look)
	for _, seen := range []int{seenByA, seenByB} {
		require.Positive(t, seen, "there is a ticket")
		execute(t, pool, `update shows set free = free - 1`)
	}
	require.Equal(t, -1, number(t, pool, look), "one ticket too many")
}

func TestSkipLocked_GivesEachWorkerAJobOfItsOwn(t *testing.T) {
	// Each worker keeps the job's row locked while it works, and the lock ends
	// with its transaction, whatever becomes of the worker.
	a, b := takeTwice(t, `select id from jobs order by id limit 1 for update skip locked`)
	require.Equal(t, 1, a)
	require.Equal(t, 2, b, "B does not wait for A's job, and does not take it")
}

func TestSkipLocked_WithoutALockTwoWorkersTakeOneJob(t *testing.T) {
	a, b := takeTwice(t, `select id from jobs order by id limit 1`)
	require.Equal(t, a, b)
}

func TestRowLock_KeepsOthersOutFromTheReadToTheWrite(t *testing.T) {
	for read, alone := range map[string]bool{
		`select balance from accounts for update nowait`: true, // without NOWAIT, B waits for A's commit
		`select balance from accounts`:                   false,
	} {
		pool := newTable(t, `create table accounts (balance int); insert into accounts values (100)`)
		require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(a pgx.Tx) error {
			_, err := a.Exec(t.Context(), read)
			require.NoError(t, err)

			_, err = pool.Exec(t.Context(), read) // B's
			if alone {
				require.ErrorContains(t, err, "55P03", "lock_not_available: A is between its read and its write")
			} else {
				require.NoError(t, err, "B has read 100 too, and one of their writes will be lost")
			}
			_, err = a.Exec(t.Context(), `update accounts set balance = 90`)
			return err
		}))
	}
}

// takeTwice has two workers take a job, both before the first one is done.
func takeTwice(t *testing.T, take string) (a, b int) {
	t.Helper()
	pool := newTable(t, `create table jobs (id int primary key); insert into jobs values (1), (2)`)
	inTransaction := func(work func(tx pgx.Tx) error) error { return pgx.BeginFunc(t.Context(), pool, work) }
	require.NoError(t, inTransaction(func(txA pgx.Tx) error {
		if err := txA.QueryRow(t.Context(), take).Scan(&a); err != nil {
			return err
		}
		return inTransaction(func(txB pgx.Tx) error {
			return txB.QueryRow(t.Context(), take).Scan(&b)
		})
	}))
	return a, b
}
