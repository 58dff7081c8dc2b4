package postgres_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// quick is a Locker's config whose holders are given up within a second.
var quick = postgres.LockerConfig{
	TTL: time.Second, Margin: 200 * time.Millisecond,
	RequestTimeout: 400 * time.Millisecond, RetryInterval: 20 * time.Millisecond,
}

func TestLock_AHolderThatIsCutOffStepsDownBeforeTheServerFreesItsLock(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	network := newProxy(t, cfg)
	lock := take(t, newLocker(t, cfg, quick), "job")
	waiting := async(func() error {
		_, err := db.locker(t, quick).Acquire(t.Context(), "job")
		return err
	})

	began := time.Now()
	network.freeze()
	require.NoError(t, <-waiting, "the server frees the lock of a silent holder")
	took := time.Since(began)
	select {
	case <-lock.Lost():
	default:
		t.Fatalf("somebody else holds the lock after %v, and the holder that was cut off still relies on it", took)
	}
	require.Less(t, took, 10*quick.TTL, "TTL bounds how long a silent holder keeps a lock")
	require.ErrorIs(t, lock.Release(t.Context()), relay.ErrLost)
	t.Logf("freed after %v, TTL %v", took, quick.TTL)
}

// The answer to a question comes late, and then the network dies. The server
// counts from when it answered; a holder that counted from when it heard of it
// would be wrong by the delay.
func TestLock_ALateAnswerDoesNotLengthenTheTrust(t *testing.T) {
	db := newDatabase(t)
	for what, question := range map[string]string{
		"to the take": "pg_try_advisory_lock", "to a ping": "select 1\x00",
	} {
		t.Run(what, func(t *testing.T) {
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
			lock := take(t, newLocker(t, cfg, limits), "job")
			next, err := db.locker(t, quick).Acquire(t.Context(), "job")
			require.NoError(t, err)
			require.True(t, late.Load())
			select {
			case <-lock.Lost():
			default:
				t.Fatal("somebody else holds the lock, and its holder still relies on it: trust runs from before the question")
			}
			require.NoError(t, next.Release(t.Context()))
		})
	}
}

func TestLock_PingsKeepAnIdleHolderBeyondTheTTL(t *testing.T) {
	db := newDatabase(t)
	locker := db.locker(t, quick)
	// On a machine so busy that it stops this process or the server for most of
	// a second, losing the lock is right.
	var err error
	for range 5 {
		lock := take(t, locker, "job")
		db.sleep(t, quick.TTL*3/2)
		if err = lock.Release(t.Context()); err == nil {
			return
		}
	}
	require.NoError(t, err, "a ping every TTL/3 keeps the server from giving the holder up")
}

func TestLock_ReleaseWithoutAnAnswerIsBoundedAndAnError(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	network := newProxy(t, cfg)
	lock := take(t, newLocker(t, cfg, quick), "job")
	network.freeze()
	require.Error(t, lock.Release(t.Context()), "the server did not say that it is free")
	select {
	case <-lock.Lost():
		t.Fatal("Lost is closed: it was given up in time, and Lost tells only of a loss")
	default:
	}
	next, err := db.locker(t, quick).Acquire(t.Context(), "job") // after TTL at the latest
	require.NoError(t, err)
	require.NoError(t, next.Release(t.Context()))
}

func TestLock_ReleaseDuringAPingWithoutAnAnswerIsBoundedToo(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	pinged := make(chan struct{}, 1)
	network.toServer = func(data []byte) {
		if bytes.Contains(data, []byte("select 1\x00")) {
			network.freeze()
			pinged <- struct{}{}
		}
	}
	limits := quick
	limits.Margin, limits.RequestTimeout = 50*time.Millisecond, 300*time.Millisecond
	lock := take(t, newLocker(t, cfg, limits), "job")
	<-pinged
	err := lock.Release(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, relay.ErrLost, "it was good when the work was over")
	select {
	case <-lock.Lost():
		t.Fatal("Lost is closed by a Release")
	default:
	}
	require.Equal(t, err, lock.Release(t.Context()))
}

// A grant that is on its way while its caller leaves must not stay behind.
func TestLocker_AnAcquireThatIsCancelledLeavesNoLock(t *testing.T) {
	question, answer := []byte("pg_try_advisory_lock"), []byte("SELECT 1")
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
			require.Zero(t, db.sessions(t))
		})
	}
}

func TestLocker_ATryWithoutAnAnswerLeavesNoLockForLong(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	network := newSniffer(t, cfg)
	granted := false
	network.toServer = func(data []byte) { granted = granted || bytes.Contains(data, []byte("pg_try_advisory_lock")) }
	network.toClient = func([]byte) {
		if granted {
			network.freeze() // the grant is made, and its answer is lost
		}
	}
	_, err := newLocker(t, cfg, quick).TryAcquire(t.Context(), "job")
	require.Error(t, err)
	require.NotErrorIs(t, err, relay.ErrNotAcquired, "nobody said so")
	_, err = db.locker(t, quick).Acquire(t.Context(), "job")
	require.NoError(t, err, "the server frees what a session got that nobody knows of")
}
