package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// quick is a Locker's config whose holders are given up within a second.
var quick = postgres.LockerConfig{
	TTL: time.Second, Margin: 200 * time.Millisecond,
	RequestTimeout: 400 * time.Millisecond, RetryInterval: 20 * time.Millisecond,
}

// patient is for who waits for a lock that one with quick's limits holds.
var patient = postgres.LockerConfig{RetryInterval: 20 * time.Millisecond}

// What a question looks like on the wire: the name of the statement that is
// bound, or a ping.
const (
	askTry    = "\x00try\x00"
	askUnlock = "\x00unlock\x00"
	askOps    = "\x00ops\x00"
	askPing   = "select 1\x00"
)

// isLost tells whether the holder has been told by now.
func isLost(lock relay.Lock) bool {
	select {
	case <-lock.Lost():
		return true
	default:
		return false
	}
}

// eventually is for what a machine can spoil that is so busy that it stops this
// process or the server for a good part of a second.
func eventually(t *testing.T, attempt func(t *testing.T) error) {
	t.Helper()
	var err error
	for range 5 {
		if err = attempt(t); err == nil {
			return
		}
		t.Log(err)
	}
	require.NoError(t, err)
}

func TestLock_AHolderThatIsCutOffStepsDownAMarginBeforeTheServerFreesItsLock(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	limits := quick
	limits.Margin, limits.RequestTimeout = 400*time.Millisecond, 200*time.Millisecond
	eventually(t, func(t *testing.T) error {
		cfg := db.config(t)
		network := newProxy(t, cfg)
		lock, err := newLocker(t, cfg, limits).TryAcquire(t.Context(), "job")
		if err != nil {
			return err
		}
		tx := db.begin(t, pgx.TxOptions{})
		freed := async(func() error { return postgres.LockTx(t.Context(), tx, "job") })
		db.awaitBlocked(t)
		network.freeze()
		select {
		case err := <-freed:
			require.NoError(t, tx.Rollback(t.Context()))
			return fmt.Errorf("the server has freed the lock (%w), and the holder that was cut off still relies on it", err)
		case <-lock.Lost():
		}
		lost := time.Now()
		require.NoError(t, <-freed, "the server frees the lock of a silent holder")
		early := time.Since(lost)
		require.ErrorIs(t, lock.Release(t.Context()), relay.ErrLost)
		require.NoError(t, tx.Rollback(t.Context()))
		t.Logf("the holder stepped down %v before, Margin %v", early, limits.Margin)
		if early < limits.Margin/2 {
			return fmt.Errorf("the holder stepped down %v before the server freed the lock, of a margin of %v", early, limits.Margin)
		}
		return nil
	})
}

// The answer to a question comes late, and then the network dies. The server
// counts from when it answered; a holder that counted from when it heard of it
// would be wrong by the delay.
func TestLock_ALateAnswerDoesNotLengthenTheTrust(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	for what, question := range map[string]string{
		"to the take": askTry, "to a ping": askPing,
	} {
		t.Run(what, func(t *testing.T) {
			eventually(t, func(t *testing.T) error {
				cfg := db.config(t)
				network := newSniffer(t, cfg)
				var asked, late atomic.Bool
				network.toServer = func(data []byte) {
					if late.Load() {
						network.freeze()
					}
					if bytes.Contains(data, []byte(question)) {
						asked.Store(true)
					}
				}
				network.toClient = func([]byte) {
					if asked.Load() && !late.Load() {
						_, _ = db.pool.Exec(t.Context(), "select pg_sleep(0.3)")
						late.Store(true)
					}
				}
				limits := quick
				limits.Margin, limits.RequestTimeout = 150*time.Millisecond, 500*time.Millisecond
				lock, err := newLocker(t, cfg, limits).TryAcquire(t.Context(), "job")
				if err != nil {
					return err
				}
				next, err := db.locker(t, patient).Acquire(t.Context(), "job")
				require.NoError(t, err)
				defer next.Release(t.Context())
				if !late.Load() || !isLost(lock) {
					return errors.New("somebody else holds the lock, and its holder still relies on it:" +
						" trust runs from before the question")
				}
				return nil
			})
		})
	}
}

// pg_cancel_backend, for one, refuses a statement and leaves the session, and
// with it the lock.
func TestLock_AStatementThatTheServerRefusesLosesNothing(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	for what, question := range map[string]string{"a ping": askPing, "the unlock": askUnlock} {
		t.Run(what, func(t *testing.T) {
			cfg := db.config(t)
			network := newSniffer(t, cfg)
			refused, answered := make(chan struct{}), make(chan struct{}, 100)
			var times atomic.Int32
			network.toServer = func(data []byte) {
				at := bytes.Index(data, []byte(question))
				switch {
				case at < 0:
				case times.Add(1) == 1:
					copy(data[at+1:], "nolock") // of the same length as what it hides, and no statement's name
					close(refused)
				default:
					answered <- struct{}{}
				}
			}
			lock := take(t, newLocker(t, cfg, postgres.LockerConfig{TTL: 3 * time.Second}), "job")
			if what == "a ping" {
				<-refused
				for range 2 { // the second comes after the answer to the first
					select {
					case <-answered:
					case <-lock.Lost():
						t.Fatalf("the session still holds it: %v", lock.Release(t.Context()))
					}
				}
				require.NotZero(t, db.holder(t, "job"))
			}
			require.NoError(t, lock.Release(t.Context()))
			<-refused
			require.False(t, isLost(lock))
			require.Zero(t, db.locks(t))
		})
	}
}

func TestLock_PingsThatAreAllRefusedEndInALossThatSaysWhy(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	var pings atomic.Int32
	network.toServer = func(data []byte) {
		if at := bytes.Index(data, []byte(askPing)); at >= 0 {
			copy(data[at:], "selekt")
			pings.Add(1)
		}
	}
	lock := take(t, newLocker(t, cfg, quick), "job")
	<-lock.Lost()
	err := lock.Release(t.Context())
	require.ErrorIs(t, err, relay.ErrLost)
	var refusal *pgconn.PgError
	require.ErrorAs(t, err, &refusal)
	require.Less(t, pings.Load(), int32(100), "it does not ask as fast as it can")
}

func TestLock_PingsKeepAnIdleHolderBeyondTheTTL(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	locker := db.locker(t, quick)
	eventually(t, func(t *testing.T) error {
		lock, err := locker.TryAcquire(t.Context(), "job")
		if err != nil {
			return err
		}
		db.sleep(t, quick.TTL*3/2)
		return lock.Release(t.Context()) // a ping every TTL/3 keeps the server from giving the holder up
	})
}

func TestLock_ReleaseWithoutAnAnswerIsBoundedAndAnError(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := db.config(t)
	network := newProxy(t, cfg)
	limits := quick
	limits.TTL, limits.RequestTimeout = 3*time.Second, 500*time.Millisecond
	lock := take(t, newLocker(t, cfg, limits), "job")
	network.freeze()
	require.Error(t, lock.Release(t.Context()), "the server did not say that it is free")
	require.False(t, isLost(lock), "it was given up in time, and Lost tells only of a loss")
	next, err := db.locker(t, patient).Acquire(t.Context(), "job") // after TTL at the latest
	require.NoError(t, err)
	require.NoError(t, next.Release(t.Context()))
}

func TestLock_ReleaseDuringAPingWithoutAnAnswerIsBoundedToo(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	pinged := make(chan struct{}, 1)
	network.toServer = func(data []byte) {
		if bytes.Contains(data, []byte(askPing)) {
			network.freeze()
			pinged <- struct{}{}
		}
	}
	limits := quick
	limits.TTL, limits.RequestTimeout = 3*time.Second, 500*time.Millisecond
	lock := take(t, newLocker(t, cfg, limits), "job")
	<-pinged
	err := lock.Release(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, relay.ErrLost, "it was good when the work was over")
	require.False(t, isLost(lock), "Lost is closed by a Release")
	require.Equal(t, err, lock.Release(t.Context()))
}

// A grant that is on its way while its caller leaves must not stay behind.
func TestLocker_AnAcquireThatIsCancelledLeavesNoLock(t *testing.T) {
	question, answer := []byte(askTry), []byte("SELECT 1")
	moments := map[string]func(p *proxy, cancel func()){
		"while the session is set up": func(p *proxy, cancel func()) {
			p.toServer = func(data []byte) {
				if bytes.Contains(data, []byte("idle_session_timeout")) {
					cancel()
				}
			}
		},
		"before the server is asked": func(p *proxy, cancel func()) {
			p.toServer = func(data []byte) {
				if bytes.Contains(data, question) {
					cancel()
				}
			}
		},
		"when the server has answered": func(p *proxy, cancel func()) {
			asked := make(chan struct{}, 1)
			p.toServer = func(data []byte) {
				if bytes.Contains(data, question) {
					asked <- struct{}{}
				}
			}
			p.toClient = func(data []byte) {
				if len(asked) > 0 && bytes.Contains(data, answer) {
					cancel()
				}
			}
		},
	}
	db := newDatabase(t)
	for when, arrange := range moments {
		t.Run(when, func(t *testing.T) {
			cfg := db.config(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			arrange(newSniffer(t, cfg), cancel)
			locker := newLocker(t, cfg, postgres.LockerConfig{})

			lock, err := locker.Acquire(ctx, "job")
			require.Nil(t, lock)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, relay.ErrNotAcquired)
			require.Zero(t, db.locks(t), "nobody holds it, so nobody would ever release it")
			require.NoError(t, locker.Close(t.Context()))
			require.Zero(t, db.sessions(t))
		})
	}
}

func TestLocker_ATryWithoutAnAnswerLeavesNoLockForLong(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	granted := false
	network.toServer = func(data []byte) { granted = granted || bytes.Contains(data, []byte(askTry)) }
	network.toClient = func([]byte) {
		if granted {
			network.freeze() // the grant is made, and its answer is lost
		}
	}
	_, err := newLocker(t, cfg, quick).TryAcquire(t.Context(), "job")
	require.Error(t, err)
	require.NotErrorIs(t, err, relay.ErrNotAcquired, "nobody said so")
	_, err = db.locker(t, patient).Acquire(t.Context(), "job")
	require.NoError(t, err, "the server frees what a session got that nobody knows of")
}
