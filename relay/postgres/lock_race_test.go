package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

type taken struct {
	lock relay.Lock
	err  error
}

// watched calls read whenever somebody asks for its deadline.
type watched struct {
	context.Context
	read func()
}

func (w watched) Deadline() (time.Time, bool) {
	w.read()
	return w.Context.Deadline()
}

func TestLocker_CloseDuringAGrantLeavesNothingAndIsNamed(t *testing.T) {
	db := newDatabase(t)
	for moment := int32(1); moment <= 4; moment++ {
		cfg := db.config(t)
		network := newSniffer(t, cfg)
		var asked, granted atomic.Bool
		network.toServer = func(data []byte) {
			if bytes.Contains(data, []byte(askTry)) {
				asked.Store(true)
			}
		}
		network.toClient = func([]byte) { granted.Store(asked.Load()) }
		locker, err := postgres.NewLocker(cfg, postgres.LockerConfig{})
		require.NoError(t, err)

		closed := make(chan error, 1)
		var readings atomic.Int32
		ctx := watched{t.Context(), func() {
			// The call looks once more whether it is still wanted, finds that it
			// is, and then the Locker is closed.
			if granted.Load() && readings.Add(1) == moment {
				go func() { closed <- locker.Close(context.Background()) }()
				for {
					// A closed Locker says so before it looks at the name.
					if _, err := locker.TryAcquire(context.Background(), ""); errors.Is(err, relay.ErrClosed) {
						return
					}
				}
			}
		}}
		lock, err := locker.Acquire(ctx, "job")
		switch {
		case readings.Load() < moment: // it looks less often
			require.NoError(t, err)
			require.NoError(t, locker.Close(t.Context()))
		case err == nil: // granted before, and lost by Close
			<-lock.Lost()
			require.ErrorIs(t, lock.Release(t.Context()), relay.ErrClosed)
			require.NoError(t, <-closed)
		default:
			require.ErrorIs(t, err, relay.ErrClosed)
			require.NoError(t, <-closed)
		}
		require.Equal(t, err == nil, lock != nil)
		require.Zero(t, db.locks(t))
		require.Zero(t, db.sessions(t))
	}
}

// The Locker is closed while a Release waits for its answer.
func TestLock_LostAndReleaseAgreeWhateverCameFirst(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	unlocking, pass := make(chan struct{}), make(chan struct{})
	network.toServer = func(data []byte) {
		if bytes.Contains(data, []byte(askUnlock)) {
			close(unlocking)
			<-pass
		}
	}
	locker := newLocker(t, cfg, postgres.LockerConfig{})
	lock := take(t, locker, "job")
	released := async(func() error { return lock.Release(t.Context()) })
	<-unlocking
	closed := async(func() error { return locker.Close(t.Context()) })
	<-lock.Lost()
	close(pass)
	err := <-released
	require.ErrorIs(t, err, relay.ErrLost)
	require.ErrorIs(t, err, relay.ErrClosed)
	require.NoError(t, <-closed)
	require.Zero(t, db.sessions(t))
}

func TestLocker_CloseWaitsUntilCallsInFlightHaveLeftTheServer(t *testing.T) {
	db := newDatabase(t)
	take(t, db.locker(t, postgres.LockerConfig{ApplicationName: "holder"}), "job")
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	waits := make(chan struct{}, 100)
	var gone atomic.Bool
	network.toServer = func(data []byte) {
		switch {
		case bytes.Contains(data, []byte(askOps)): // as a waiter
			waits <- struct{}{}
		case data[0] == 'X':
			_, _ = db.pool.Exec(t.Context(), "select pg_sleep(0.3)")
			gone.Store(true)
		}
	}
	locker := newLocker(t, cfg, postgres.LockerConfig{RetryInterval: 20 * time.Millisecond})
	waiting := async(func() error {
		_, err := locker.Acquire(t.Context(), "job")
		return err
	})
	<-waits
	<-waits // the first was answered: the session only waits
	require.NoError(t, locker.Close(t.Context()))
	require.True(t, gone.Load(), "Close returned before the waiter's session had left")
	require.ErrorIs(t, <-waiting, relay.ErrClosed)
	require.Zero(t, db.sessions(t))
}

// silentConfig leads to a server that takes connections and never answers.
func silentConfig(t testing.TB, dials *atomic.Int32) *pgxpool.Config {
	t.Helper()
	cfg, err := pgxpool.ParseConfig("host=192.0.2.1 user=u dbname=d sslmode=disable")
	require.NoError(t, err)
	cfg.ConnConfig.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	cfg.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return silentConn(t), nil
	}
	return cfg
}

func silentConn(t testing.TB) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	go func() {
		buf := make([]byte, 1<<10)
		for {
			if _, err := server.Read(buf); err != nil {
				_ = server.Close()
				return
			}
		}
	}()
	return client
}

func TestLocker_CallsOfOneNameDoNotQueueBehindASilentServer(t *testing.T) {
	for what, call := range map[string]func(*postgres.Locker, context.Context, string) (relay.Lock, error){
		"Acquire": (*postgres.Locker).Acquire, "TryAcquire": (*postgres.Locker).TryAcquire,
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dials atomic.Int32
				locker := newLocker(t, silentConfig(t, &dials), postgres.LockerConfig{})
				began := time.Now()
				var calls sync.WaitGroup
				for range 4 {
					calls.Go(func() {
						_, err := call(locker, t.Context(), "job")
						if err == nil || time.Since(began) > 6*time.Second {
							t.Errorf("an answer after %v: %v", time.Since(began), err)
						}
					})
				}
				calls.Wait()
				require.EqualValues(t, 1, dials.Load(), "one asked, and the others took its outcome")
			})
		})
	}
}

func TestLocker_TheEndOfOneCallersContextIsNoAnswerToTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		locker := newLocker(t, silentConfig(t, &dials), postgres.LockerConfig{})
		began := time.Now()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := async(func() error {
			_, err := locker.TryAcquire(impatient, "job")
			return err
		})
		synctest.Wait()
		_, err := locker.TryAcquire(t.Context(), "job")
		require.Error(t, err)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "no context of the caller's has ended")
		require.Equal(t, 5*time.Second, time.Since(began), "the session is opened for all who wait")
		require.ErrorIs(t, <-first, context.DeadlineExceeded)
		require.EqualValues(t, 1, dials.Load())
	})
}

// Between a refusal and its arrival the lock may be freed, and somebody come
// who knows.
func TestLocker_ARefusalIsNoAnswerToWhoCameAfterTheQuestion(t *testing.T) {
	db := newDatabase(t)
	held := take(t, db.locker(t, postgres.LockerConfig{}), "job")
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	var asked atomic.Bool
	refused, pass := make(chan struct{}), make(chan struct{})
	network.toServer = func(data []byte) {
		if bytes.Contains(data, []byte(askTry)) {
			asked.Store(true)
		}
	}
	network.toClient = func([]byte) {
		if asked.CompareAndSwap(true, false) {
			select {
			case <-refused: // the second time
			default:
				close(refused)
				<-pass
			}
		}
	}
	locker := newLocker(t, cfg, postgres.LockerConfig{})
	first := async(func() error {
		_, err := locker.TryAcquire(t.Context(), "job")
		return err
	})
	<-refused
	require.NoError(t, held.Release(t.Context()))
	second := async(func() error {
		_, err := locker.TryAcquire(t.Context(), "job")
		return err
	})
	db.sleep(t, 100*time.Millisecond) // a faulty Locker has to see it waiting
	close(pass)
	require.ErrorIs(t, <-first, relay.ErrNotAcquired)
	require.NoError(t, <-second, "it was free, and the caller knew")
}

// An observer may call the lock and the Locker about any event.
func TestLock_AnObserverMayCallBack(t *testing.T) {
	db := newDatabase(t)
	db.exec(t, "create schema faulty")
	db.exec(t, "create function faulty.pg_advisory_unlock(bigint) returns bool language sql as 'select false'")
	for kind, arrange := range map[relay.EventKind]func(cfg *pgxpool.Config) (meanwhile func(relay.Lock)){
		relay.EventReleased: func(*pgxpool.Config) func(relay.Lock) { return func(relay.Lock) {} },
		relay.EventLost: func(cfg *pgxpool.Config) func(relay.Lock) {
			cfg.ConnConfig.RuntimeParams["search_path"] = "faulty, pg_catalog" // Release finds the loss
			return func(relay.Lock) {}
		},
		relay.EventFailed: func(cfg *pgxpool.Config) func(relay.Lock) {
			network := newProxy(t, cfg)
			return func(relay.Lock) { network.freeze() }
		},
	} {
		t.Run(string(kind), func(t *testing.T) {
			cfg := db.config(t)
			meanwhile := arrange(cfg)
			var lock relay.Lock
			var locker *postgres.Locker
			events := make(chan relay.Event, 10)
			again := make(chan error, 10)
			locker = newLocker(t, cfg, postgres.LockerConfig{
				TTL: 3 * time.Second, RequestTimeout: 300 * time.Millisecond,
				Observer: func(e relay.Event) {
					again <- lock.Release(context.Background())
					again <- locker.Close(context.Background())
					events <- e
				},
			})
			lock = take(t, locker, string(kind)) // a name of its own: one of them stays held on the server
			meanwhile(lock)
			released := async(func() error { return lock.Release(t.Context()) })
			select {
			case err := <-released:
				require.Equal(t, err, <-again, "a second Release returns what the first did")
				require.NoError(t, <-again)
				require.Equal(t, kind, (<-events).Kind)
				require.Empty(t, events, "one event, once")
			case <-time.After(30 * time.Second):
				t.Fatal("the Release waits for its own observer")
			}
		})
	}
}

// socket is a connection on which a deadline in the past that is replaced before
// the reader has run is none. Sockets are like that: runtime_pollWait retries.
type socket struct {
	net.Conn
	mu      *sync.Mutex
	pending **time.Timer
}

func (c socket) set(t time.Time, set func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.pending != nil {
		(*c.pending).Stop()
		*c.pending = nil
	}
	if t.IsZero() || time.Until(t) > 0 {
		return set(t)
	}
	*c.pending = time.AfterFunc(time.Millisecond, func() { _ = set(t) })
	return nil
}

func (c socket) SetDeadline(t time.Time) error     { return c.set(t, c.Conn.SetDeadline) }
func (c socket) SetReadDeadline(t time.Time) error { return c.set(t, c.Conn.SetReadDeadline) }

// Somebody has woken the keeper, which has not run yet.
func TestLocker_CloseJustAfterACallerWantedTheSessionIsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cfg := newToy(t)
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return socket{conn, new(sync.Mutex), new(*time.Timer)}, err
		}
		locker := newLocker(t, cfg, slow)
		take(t, locker, "kept")
		time.Sleep(time.Second) // its keeper reads
		caller := try(t.Context(), locker, "job")
		began := time.Now()
		require.NoError(t, locker.Close(t.Context()))
		require.Less(t, time.Since(began), time.Second)
		require.ErrorIs(t, (<-caller).err, relay.ErrClosed)
	})
}
