package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// deaf is for Lockers whose waiters would wait for hours if no release woke them.
var deaf = postgres.LockerConfig{RetryInterval: 12 * time.Hour}

// Each turn would end in a wait of hours if a single wake-up were lost: between
// a waiter's refusal and its registration, say, or behind the release's look.
func TestLocker_NoWakeUpIsLost(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	var lockers []*postgres.Locker
	for range 3 {
		lockers = append(lockers, db.locker(t, deaf))
	}
	var callers sync.WaitGroup
	var inside [2]atomic.Int32
	for i := range 12 {
		callers.Go(func() {
			for n := range 50 {
				at := (i + n) % 2
				lock, err := lockers[i%3].Acquire(t.Context(), fmt.Sprint("job ", at))
				if err != nil {
					t.Errorf("turn %d: %v", n, err)
					return
				}
				if now := inside[at].Add(1); now != 1 {
					t.Errorf("%d are inside", now)
				}
				inside[at].Add(-1)
				if err := lock.Release(t.Context()); err != nil {
					t.Errorf("turn %d: %v", n, err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// notifications counts what the database is notified of.
func (d *database) notifications(t testing.TB) func() (payloads []string) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), d.config(t).ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	_, err = conn.Exec(t.Context(), "listen relay")
	require.NoError(t, err)
	return func() (payloads []string) {
		d.exec(t, "select pg_notify('relay', 'the end')") // they arrive in the order of the commits
		for {
			n, err := conn.WaitForNotification(t.Context())
			require.NoError(t, err)
			if n.Payload == "the end" {
				return payloads
			}
			payloads = append(payloads, n.Payload)
		}
	}
}

func TestLock_AReleaseNotifiesOnlyWhenAnotherProcessWaits(t *testing.T) {
	db := newDatabase(t)
	heard := db.notifications(t)
	a, b := db.locker(t, deaf), db.locker(t, deaf)
	for _, name := range []string{"one", "two", "three"} {
		require.NoError(t, take(t, a, name).Release(t.Context()))
	}
	lock := take(t, a, "job")
	own := async(func() error { // of this process: it needs no telling
		lock, err := a.Acquire(t.Context(), "job")
		if err == nil {
			err = lock.Release(t.Context())
		}
		return err
	})
	require.NoError(t, lock.Release(t.Context()))
	require.NoError(t, <-own)
	require.Empty(t, heard(), "nobody waits")

	lock = take(t, a, "job")
	waiting := async(func() taken {
		lock, err := b.Acquire(t.Context(), "job")
		return taken{lock, err}
	})
	db.awaitWaiters(t, "job", 1)
	require.NoError(t, lock.Release(t.Context()))
	got := <-waiting
	require.NoError(t, got.err)
	require.Equal(t, []string{fmt.Sprint(postgres.LockKey("job"))}, heard())
	require.Zero(t, db.waiters(t, "job"), "who holds it waits no more")
	require.NoError(t, got.lock.Release(t.Context()))
	require.Empty(t, heard())
}

func TestLocker_AWaiterThatLeavesIsNoWaiterAnyMore(t *testing.T) {
	db := newDatabase(t)
	holder, locker := db.locker(t, deaf), db.locker(t, deaf)
	lock := take(t, holder, "job")
	ctx, cancel := context.WithCancel(t.Context())
	first := async(func() error {
		_, err := locker.Acquire(ctx, "job")
		return err
	})
	db.awaitWaiters(t, "job", 1)
	second := async(func() error {
		_, err := locker.Acquire(t.Context(), "job")
		return err
	})
	cancel()
	require.ErrorIs(t, <-first, relay.ErrNotAcquired)
	require.NoError(t, lock.Release(t.Context()))
	require.NoError(t, <-second, "it waits on, and is woken")

	ctx, cancel = context.WithCancel(t.Context())
	third := async(func() error {
		_, err := holder.Acquire(ctx, "job")
		return err
	})
	db.awaitWaiters(t, "job", 1)
	cancel()
	require.ErrorIs(t, <-third, context.Canceled)
	db.awaitWaiters(t, "job", 0)
	require.Equal(t, 1, db.locks(t), "the holder's")
}

// Those of the holder's own process are always faster; they must not be always
// first.
func TestLocker_WaitersOfOtherProcessesGetTheirTurn(t *testing.T) {
	db := newDatabase(t)
	crowd, other := db.locker(t, deaf), db.locker(t, deaf)
	ctx, stop := context.WithCancel(t.Context())
	var turns atomic.Int32
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for ctx.Err() == nil {
				lock, err := crowd.Acquire(ctx, "job")
				if err != nil {
					return
				}
				turns.Add(1)
				_ = lock.Release(t.Context())
			}
		})
	}
	for range 5 {
		before := turns.Load()
		lock, err := other.Acquire(t.Context(), "job") // without an end if it never gets a turn
		require.NoError(t, err)
		t.Logf("after %d turns of the others", turns.Load()-before)
		require.NoError(t, lock.Release(t.Context()))
	}
	stop()
	callers.Wait()
}

// All the waiters of a Locker ask in one statement.
func TestLocker_AThousandWaitersAskTogether(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	holder := db.locker(t, deaf)
	takeMany(t, holder, 500)
	cfg := db.config(t)
	questions := countQuestions(newSniffer(t, cfg))
	waiter := newLocker(t, cfg, postgres.LockerConfig{RetryInterval: 2 * time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range 500 {
		callers.Go(func() {
			_, err := waiter.Acquire(ctx, fmt.Sprintf("many/%d", i))
			if err == nil {
				t.Error("it is held")
			}
		})
	}
	for db.locks(t) != 1000 { // all of them have registered
		require.NoError(t, t.Context().Err())
	}
	before := questions.Load()
	db.sleep(t, 4*time.Second)
	asked := questions.Load() - before
	t.Logf("%d questions in two periods, for 500 waiters", asked)
	require.Less(t, asked, int32(50))
	cancel()
	callers.Wait()
	for db.locks(t) != 500 {
		require.NoError(t, t.Context().Err())
	}
}

// Many roles of a process cost one session, and hardly a statement while nothing
// happens.
func TestLockElector_AThousandRolesCostOneSession(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	var messages atomic.Int32
	network.toServer = func([]byte) { messages.Add(1) }
	locker := newLocker(t, cfg, postgres.LockerConfig{TTL: 3 * time.Second})
	elector, err := relay.NewLockElector(locker, relay.LockElectorConfig{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var leaders, roles sync.WaitGroup
	leaders.Add(1000)
	for i := range 1000 {
		roles.Go(func() {
			_ = elector.Run(ctx, fmt.Sprint("role ", i), func(ctx context.Context) error {
				leaders.Done()
				<-ctx.Done()
				return nil
			})
		})
	}
	leaders.Wait()
	require.Equal(t, 1, db.sessions(t))
	db.sleep(t, 100*time.Millisecond)
	before := messages.Load()
	db.sleep(t, 3*time.Second)
	pings := messages.Load() - before
	t.Logf("%d messages in three ping intervals", pings)
	require.LessOrEqual(t, pings, int32(9))
	cancel()
	roles.Wait()
	require.Zero(t, db.locks(t))
}
