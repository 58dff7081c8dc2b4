package relay_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

// scriptedLocker answers Acquire with the errors of its script, then grants.
type scriptedLocker struct {
	mu       sync.Mutex // guards what follows
	script   []error
	names    []string
	granted  []*scriptedLock
	acquired []time.Time
}

func (l *scriptedLocker) TryAcquire(ctx context.Context, name string) (relay.Lock, error) {
	return l.Acquire(ctx, name)
}

func (l *scriptedLocker) Acquire(_ context.Context, name string) (relay.Lock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names, l.acquired = append(l.names, name), append(l.acquired, time.Now())
	if len(l.script) > 0 {
		next := l.script[0]
		l.script = l.script[1:]
		if next != nil {
			return nil, next
		}
	}
	lock := &scriptedLock{name: name, lost: make(chan struct{})}
	l.granted = append(l.granted, lock)
	return lock, nil
}

// lose makes the n-th granted lock be lost.
func (l *scriptedLocker) lose(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.granted[n].lost)
}

type scriptedLock struct {
	name     string
	lost     chan struct{}
	released int
}

func (l *scriptedLock) Name() string          { return l.name }
func (l *scriptedLock) Lost() <-chan struct{} { return l.lost }
func (l *scriptedLock) Release(context.Context) error {
	l.released++
	select {
	case <-l.lost:
		return errors.Join(relay.ErrLost, errNoAnswer)
	default:
		return nil
	}
}

func TestWithLock_HoldsTheLockWhileTheWorkRuns(t *testing.T) {
	locker := memory.NewLocker()
	err := relay.WithLock(t.Context(), locker, "export", func(ctx context.Context) error {
		_, err := locker.TryAcquire(ctx, "export")
		require.ErrorIs(t, err, relay.ErrNotAcquired)
		return nil
	})
	require.NoError(t, err)
	lock, err := locker.TryAcquire(t.Context(), "export")
	require.NoError(t, err, "and gives it up afterwards")
	require.NoError(t, lock.Release(t.Context()))
}

func TestWithLock_WaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := memory.NewLocker()
		lock, err := locker.TryAcquire(t.Context(), "export")
		require.NoError(t, err)
		time.AfterFunc(time.Minute, func() { _ = lock.Release(context.Background()) })
		began := time.Now()
		require.NoError(t, relay.WithLock(t.Context(), locker, "export", func(context.Context) error {
			require.Equal(t, time.Minute, time.Since(began))
			return nil
		}))
	})
}

func TestWithLock_WhatFailsBeforeTheWorkIsReturnedAlone(t *testing.T) {
	locker := &scriptedLocker{script: []error{errStoreDown}}
	err := relay.WithLock(t.Context(), locker, "export", func(context.Context) error {
		t.Error("the work ran without the lock")
		return nil
	})
	require.Equal(t, errStoreDown, err)
	work := func(context.Context) error { return nil }
	require.ErrorContains(t, relay.WithLock(t.Context(), nil, "export", work), "Locker is nil")
	require.ErrorContains(t, relay.WithLock(t.Context(), locker, "export", nil), "fn is nil")
	require.Empty(t, locker.granted, "a misuse takes nothing")
}

func TestWithLock_TellsTheWorkThatTheLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := &scriptedLocker{}
		ran := false
		err := relay.WithLock(t.Context(), locker, "export", func(ctx context.Context) error {
			locker.lose(0)
			<-ctx.Done()
			require.Equal(t, relay.ErrLost, context.Cause(ctx))
			time.Sleep(time.Minute) // winds down
			ran = true
			return nil
		})
		require.True(t, ran, "WithLock waits for the work all the same")
		require.ErrorIs(t, err, relay.ErrLost, "the loss shows even when the work returned nil")
		require.Equal(t, 1, locker.granted[0].released)
	})
}

func TestWithLock_ReturnsBothErrors(t *testing.T) {
	locker := &scriptedLocker{}
	err := relay.WithLock(t.Context(), locker, "export", func(context.Context) error {
		locker.lose(0)
		return errStoreDown
	})
	require.ErrorIs(t, err, errStoreDown)
	require.ErrorIs(t, err, relay.ErrLost)
	require.ErrorIs(t, err, errNoAnswer, "with the cause of the loss")
}

func TestWithLock_ReleasesWhateverTheWorkDoes(t *testing.T) {
	locker := &scriptedLocker{}
	require.PanicsWithValue(t, "boom", func() {
		_ = relay.WithLock(t.Context(), locker, "export", func(context.Context) error { panic("boom") })
	})
	require.Equal(t, 1, locker.granted[0].released)

	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = relay.WithLock(t.Context(), locker, "export", func(context.Context) error {
			runtime.Goexit()
			return nil
		})
	}()
	<-exited
	require.Equal(t, 1, locker.granted[1].released)

	var kept context.Context
	require.NoError(t, relay.WithLock(t.Context(), locker, "export", func(ctx context.Context) error {
		kept = ctx
		return nil
	}))
	require.Error(t, kept.Err(), "the work's context ends with the lock")
}
