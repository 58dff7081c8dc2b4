package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// takeMany takes n locks, each by a caller of its own.
func takeMany(t testing.TB, l *postgres.Locker, n int) []relay.Lock {
	t.Helper()
	locks := make([]relay.Lock, n)
	var callers sync.WaitGroup
	for i := range locks {
		callers.Go(func() {
			lock, err := l.TryAcquire(t.Context(), fmt.Sprintf("many/%d", i))
			if err != nil {
				t.Errorf("lock %d: %v", i, err)
			}
			locks[i] = lock
		})
	}
	callers.Wait()
	require.False(t, t.Failed())
	return locks
}

// countQuestions counts the statements that ask for locks, whatever number.
func countQuestions(network *proxy) *atomic.Int32 {
	var questions atomic.Int32
	network.toServer = func(data []byte) {
		if bytes.Contains(data, []byte(askTry)) || bytes.Contains(data, []byte(askOps)) {
			questions.Add(1)
		}
	}
	return &questions
}

func TestLocker_AThousandLocksCostOneSessionAndFewQuestions(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	questions := countQuestions(newSniffer(t, cfg))
	locker := newLocker(t, cfg, postgres.LockerConfig{})
	began := time.Now()
	locks := takeMany(t, locker, 1000)
	t.Logf("taken in %v, with %d questions", time.Since(began), questions.Load())
	require.Equal(t, 1, db.sessions(t))
	require.Equal(t, 1000, db.locks(t))
	require.Less(t, questions.Load(), int32(200), "callers that come together ask together")

	_, err := locker.TryAcquire(t.Context(), "one more")
	require.ErrorIs(t, err, postgres.ErrTooMany)
	require.ErrorContains(t, err, "MaxHeld = 1000")
	var callers sync.WaitGroup
	for _, lock := range locks {
		callers.Go(func() {
			if err := lock.Release(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	require.Zero(t, db.locks(t))
}

func TestLocker_TheLossOfTheSessionIsToldToEveryHolderAndEveryWaiter(t *testing.T) {
	db := newDatabase(t)
	elsewhere := take(t, db.locker(t, postgres.LockerConfig{ApplicationName: "elsewhere"}), "held elsewhere")
	var told sync.Map
	locker := db.locker(t, postgres.LockerConfig{Observer: func(e relay.Event) {
		if e.Kind != relay.EventLost {
			return
		}
		if _, again := told.LoadOrStore(e.Name, e.Err); again {
			t.Errorf("an event too many: %+v", e)
		}
	}})
	locks := append(takeMany(t, locker, 20), take(t, locker, "costarring"))
	waiting := async(func() error {
		_, err := locker.Acquire(t.Context(), "held elsewhere")
		return err
	})
	local := async(func() error {
		_, err := locker.Acquire(t.Context(), "liquid") // of the same key, so that Holders shows it
		return err
	})
	db.awaitWaiters(t, "held elsewhere", 1)
	for {
		holders, err := locker.Holders(t.Context())
		require.NoError(t, err)
		if slices.ContainsFunc(holders, func(h postgres.Holder) bool { return h.Name == "liquid" }) {
			break
		}
	}
	db.terminate(t, db.holder(t, locks[0].Name()))
	for _, lock := range locks {
		<-lock.Lost()
		require.ErrorIs(t, lock.Release(t.Context()), relay.ErrLost)
	}
	for _, err := range []error{<-waiting, <-local} {
		require.Error(t, err)
		require.NotErrorIs(t, err, relay.ErrLost, "it held nothing that it could lose")
		require.NotErrorIs(t, err, relay.ErrNotAcquired, "nobody said that it is held")
	}
	for db.locks(t) > 1 { // the server frees them a moment after it has said goodbye
		require.NoError(t, t.Context().Err())
	}
	again := takeMany(t, locker, 20) // on a new session
	require.NoError(t, elsewhere.Release(t.Context()))
	require.NoError(t, take(t, locker, "held elsewhere").Release(t.Context()))
	require.Equal(t, 20, db.locks(t))
	require.Equal(t, 1, db.sessions(t))
	for _, lock := range locks { // all told, once each
		for _, ok := told.Load(lock.Name()); !ok; _, ok = told.Load(lock.Name()) {
			require.NoError(t, t.Context().Err())
		}
		told.Delete(lock.Name())
	}
	for _, lock := range again {
		require.False(t, isLost(lock), "a loss is of one session")
	}
	told.Range(func(name, _ any) bool { t.Errorf("%v was not lost", name); return true })
	require.NoError(t, locker.Close(t.Context())) // which is a loss of its own
	for _, lock := range again {
		require.ErrorIs(t, lock.Release(t.Context()), relay.ErrClosed)
	}
}

// A caller that gives up must not cost the others theirs, wherever its question
// is: queued, on the way there, answered, on the way back.
func TestLocker_AnAcquireThatIsCancelledAtAnyPointCostsNobodyALock(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	held := take(t, db.locker(t, postgres.LockerConfig{ApplicationName: "holder"}), "held elsewhere")
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	var mu sync.Mutex
	var cancel context.CancelFunc
	point, passing := 0, 0
	pass := func([]byte) { // counts each message, and cancels at the one whose turn it is
		mu.Lock()
		defer mu.Unlock()
		if cancel != nil && passing == point {
			cancel()
		}
		passing++
	}
	network.toServer, network.toClient = pass, pass
	locker := newLocker(t, cfg, postgres.LockerConfig{RetryInterval: 20 * time.Millisecond})
	locks := takeMany(t, locker, 100)
	for i := range 60 {
		ctx, stop := context.WithCancel(t.Context())
		name := "free"
		if i%2 == 1 {
			name = "held elsewhere" // it waits, registers, and leaves
		}
		mu.Lock()
		cancel, point, passing = stop, i/2%12, 0
		mu.Unlock()
		if i < 4 {
			stop() // before anything
		}
		lock, err := locker.Acquire(ctx, name)
		mu.Lock()
		cancel = nil
		mu.Unlock()
		stop()
		if err == nil {
			require.NoError(t, lock.Release(t.Context()))
			continue
		}
		require.Nil(t, lock)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, relay.ErrNotAcquired)
		require.Zero(t, db.holder(t, "free"), "nobody holds it, so nobody would ever release it")
	}
	for db.locks(t) != 101 { // who has left is no waiter any more, which takes a moment
		require.NoError(t, t.Context().Err())
	}
	for _, lock := range locks {
		require.False(t, isLost(lock))
		require.NoError(t, lock.Release(t.Context()))
	}
	require.NoError(t, held.Release(t.Context()))
	require.Zero(t, db.locks(t))
}

// stall holds what a question is answered until it is let go.
type stall struct {
	asked, pass chan struct{}
}

// stallOn makes the sniffer hold up everything, both ways, from the first
// message that contains the question.
func stallOn(network *proxy, question string) *stall {
	s := &stall{asked: make(chan struct{}), pass: make(chan struct{})}
	var once sync.Once
	network.toServer = func(data []byte) {
		if bytes.Contains(data, []byte(question)) {
			once.Do(func() { close(s.asked) })
			<-s.pass
		}
	}
	return s
}

func TestLock_AReleaseThatTheServerIsSlowToAnswerIsBoundedAndCostsNoOtherLock(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	stalled := stallOn(network, askUnlock)
	locker := newLocker(t, cfg, postgres.LockerConfig{RequestTimeout: time.Second})
	other, lock := take(t, locker, "other"), take(t, locker, "job")
	err := lock.Release(t.Context()) // after RequestTimeout, long before TTL − Margin
	require.ErrorContains(t, err, "no answer within RequestTimeout")
	require.NotErrorIs(t, err, relay.ErrLost)
	require.Equal(t, err, lock.Release(t.Context()))

	queued := async(func() error { // a caller after it is bounded too
		lock, err := locker.Acquire(t.Context(), "third")
		if err == nil {
			err = lock.Release(t.Context())
		}
		return err
	})
	_, err = locker.TryAcquire(t.Context(), "job")
	require.ErrorIs(t, err, relay.ErrNotAcquired, "nobody has said that it is free")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, isLost(other))
	_, err = locker.Acquire(ctx, "fourth")
	require.ErrorIs(t, err, context.Canceled, "a question that was not sent yet is withdrawn")
	close(stalled.pass)
	require.NoError(t, <-queued)
	require.False(t, isLost(lock), "Lost tells only of a loss")
	require.NoError(t, other.Release(t.Context()), "it was held all the time")
	require.Zero(t, db.locks(t), "the answer came at last")
}

func TestLock_WhenTheServerStaysSilentTheOthersAreLostInTheEnd(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	network.toServer = func(data []byte) {
		if bytes.Contains(data, []byte(askUnlock)) {
			network.freeze()
		}
	}
	locker := newLocker(t, cfg, quick)
	other, lock := take(t, locker, "other"), take(t, locker, "job")
	require.ErrorContains(t, lock.Release(t.Context()), "no answer")
	<-other.Lost()
	require.ErrorContains(t, other.Release(t.Context()), "TTL − Margin")
	require.False(t, isLost(lock))
	next, err := db.locker(t, patient).Acquire(t.Context(), "other") // the server frees them
	require.NoError(t, err)
	require.NoError(t, next.Release(t.Context()))
	require.NoError(t, take(t, db.locker(t, patient), "job").Release(t.Context()))
}

// Two names with one FNV-1a hash. They exclude each other, inside a Locker too,
// and what one gives up the other does not lose.
func TestLocker_NamesThatShareAKeyExcludeEachOtherAndNoMore(t *testing.T) {
	const one, two = "costarring", "liquid"
	require.Equal(t, postgres.LockKey(one), postgres.LockKey(two))
	db := newDatabase(t)
	locker := db.locker(t, postgres.LockerConfig{})
	lock := take(t, locker, one)
	_, err := locker.TryAcquire(t.Context(), two)
	require.ErrorIs(t, err, relay.ErrNotAcquired)
	require.ErrorContains(t, err, two)
	waiting := async(func() taken {
		lock, err := locker.Acquire(t.Context(), two)
		return taken{lock, err}
	})
	require.NoError(t, lock.Release(t.Context()))
	got := <-waiting
	require.NoError(t, got.err)
	require.Equal(t, two, got.lock.Name())
	_, err = db.locker(t, postgres.LockerConfig{}).TryAcquire(t.Context(), one)
	require.ErrorIs(t, err, relay.ErrNotAcquired)
	require.NoError(t, got.lock.Release(t.Context()))
	require.Zero(t, db.locks(t))
}

// Many callers do everything at once on few names, while the session is killed
// again and again. In the end nothing is held that nobody holds.
func TestLocker_NothingIsLeftAfterAStorm(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := postgres.LockerConfig{RetryInterval: 20 * time.Millisecond}
	lockers := []*postgres.Locker{db.locker(t, cfg), db.locker(t, cfg)}
	holders := make([]atomic.Int32, 5)
	var callers sync.WaitGroup
	storm, calm := context.WithCancel(t.Context())
	var turns, losses atomic.Int32
	for i := range 24 {
		callers.Go(func() {
			for n := i; storm.Err() == nil; n++ {
				at := n % len(holders)
				name := fmt.Sprintf("storm/%d", at)
				ctx, cancel := context.WithTimeout(storm, time.Duration(n%7)*time.Millisecond)
				call := lockers[i%2].Acquire
				if n%3 == 0 {
					call = lockers[i%2].TryAcquire
				}
				lock, err := call(ctx, name)
				cancel()
				if err != nil {
					continue
				}
				turns.Add(1)
				inside := holders[at].Add(1)
				lost := isLost(lock)
				if inside > 1 && !lost {
					// The other one may be lost and not have looked yet.
					if n := holders[at].Load(); n > 1 && losses.Load() == 0 {
						t.Errorf("%d hold %s", n, name)
					}
				}
				holders[at].Add(-1)
				if err := lock.Release(context.Background()); err != nil && !errors.Is(err, relay.ErrLost) {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	for turns.Load() < 300 { // in peace: strict exclusion
		require.NoError(t, t.Context().Err())
		db.exec(t, "select 1")
	}
	for range 20 {
		losses.Add(1)
		db.exec(t, `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and application_name = 'relay'`)
		before := turns.Load()
		for turns.Load() < before+20 { // it goes on by itself
			require.NoError(t, t.Context().Err())
			db.exec(t, "select 1")
		}
	}
	calm()
	callers.Wait()
	for db.locks(t) != 0 {
		require.NoError(t, t.Context().Err())
	}
	for _, l := range lockers {
		require.NoError(t, l.Close(t.Context()))
	}
	db.awaitSessions(t, 0) // those that were terminated go a moment after they have said so
	awaitNoGoroutines(t)
}

func TestLocker_AServerWithoutADeadManIsToldOnceAndStillLocks(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	var sent strings.Builder
	var mu sync.Mutex
	network.toServer = func(data []byte) {
		mu.Lock()
		defer mu.Unlock()
		sent.Write(data)
	}
	network.toClient = func(data []byte) {
		if at := bytes.Index(data, []byte("server_version\x00")); at >= 0 {
			copy(data[at+len("server_version\x00"):], "13") // two digits for two
		}
	}
	told := make(chan relay.Event, 10)
	callBack := make(chan error, 10)
	var locker *postgres.Locker
	locker = newLocker(t, cfg, postgres.LockerConfig{Observer: func(e relay.Event) {
		if e.Kind == relay.EventFailed { // it may call the Locker
			_, err := locker.TryAcquire(context.Background(), "job")
			callBack <- err
		}
		told <- e
	}})
	lost := take(t, locker, "job")
	event := <-told
	require.Equal(t, relay.EventFailed, event.Kind)
	require.ErrorIs(t, event.Err, postgres.ErrNoDeadMan)
	require.ErrorContains(t, event.Err, "upgrade it", "the error names the mend")
	require.ErrorIs(t, <-callBack, relay.ErrNotAcquired)
	mu.Lock()
	require.NotContains(t, sent.String(), "idle_session_timeout", "the server would refuse it")
	mu.Unlock()
	db.terminate(t, db.holder(t, "job"))
	<-lost.Lost()
	require.Equal(t, relay.EventLost, (<-told).Kind)
	for { // on a new session
		lock, err := locker.TryAcquire(t.Context(), "job")
		if err == nil {
			require.NoError(t, lock.Release(t.Context()))
			break
		}
	}
	require.Equal(t, relay.EventReleased, (<-told).Kind, "said once for the Locker")
}
