package relaytest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/relay-samples/relay-go/relay"
)

const job = "job" // the name that most rules contend for

var lockerRules = []rule[LockerSubject]{
	{"a held name is refused, to another process too", func(tr *trial, s LockerSubject) {
		lock := tr.take(s.A, job, "nobody holds it")
		if got := lock.Name(); got != job {
			tr.fail("Name() = %.40q for a lock taken as %.40q", got, job)
		}
		tr.refuse(s.B, job, "a lock has one holder")
		tr.unlock(lock)
		tr.take(s.B, job, "it was released")
		tr.refuse(s.A, job, "a lock has one holder")
	}},
	{"a Locker does not enter its own lock again", func(tr *trial, s LockerSubject) {
		lock := tr.take(s.A, job, "nobody holds it")
		tr.refuse(s.A, job, "locks are not re-entrant")
		tr.giveUp(s.A, job, "locks are not re-entrant")
		tr.unlock(lock)
		tr.take(s.B, job, "one Release is enough, however often the holder asked for more")
	}},
	{"a released name is free at once", func(tr *trial, s LockerSubject) {
		for range 3 {
			tr.unlock(tr.take(s.A, job, "it was released"))
			tr.unlock(tr.take(s.B, job, "it was released"))
		}
	}},
	{"different names do not contend", func(tr *trial, s LockerSubject) {
		first := tr.take(s.A, job, "nobody holds it")
		second := tr.take(s.A, "another job", "another name is held, not this one")
		tr.take(s.B, "a third job", "other names are held, not this one")
		tr.unlock(first)
		tr.refuse(s.B, second.Name(), "another name was released, not this one")
	}},
	{"names are compared byte by byte", func(tr *trial, s LockerSubject) {
		for _, name := range oddNames {
			lock := tr.take(s.A, name, "nobody holds it: no name that differs in a byte is the same name")
			if got := lock.Name(); got != name {
				tr.fail("Name() = %.40q for a lock taken as %.40q", got, name)
			}
		}
		for _, name := range oddNames {
			tr.refuse(s.B, name, "it is held")
		}
	}},
	{"names that not every adapter can take are refused", func(tr *trial, s LockerSubject) {
		tr.refusesBadNames("TryAcquire", func(name string) error {
			_, err := s.A.TryAcquire(tr.ctx, name)
			return err
		})
		tr.refusesBadNames("Acquire", func(name string) error {
			_, err := s.A.Acquire(tr.ctx, name)
			return err
		})
	}},

	{"Acquire waits for the release", func(tr *trial, s LockerSubject) {
		lock := tr.take(s.A, job, "nobody holds it")
		waiting := tr.acquiring(tr.ctx, s.B, job)
		tr.giveUp(s.A, job, "it is held") // meanwhile the other one waits
		select {
		case got := <-waiting:
			tr.fail("Acquire(%q) returned with error %v while the lock was held: it waits", job, got.err)
		default:
		}
		tr.unlock(lock)
		got := await(tr, waiting, "Acquire returns after the release")
		if got.err != nil {
			tr.fail("Acquire(%q) after the release: %v; want the lock", job, got.err)
		}
		tr.refuse(s.A, job, "the one that waited holds it")
		tr.unlock(got.lock)
	}},
	{"Acquire whose context ends says both that and not acquired", func(tr *trial, s LockerSubject) {
		tr.take(s.A, job, "nobody holds it")
		tr.giveUp(s.B, job, "it is held") // by its deadline

		ctx, cancel := context.WithCancel(tr.ctx)
		defer cancel()
		waiting := tr.acquiring(ctx, s.B, job)
		cancel()
		got := await(tr, waiting, "Acquire returns once its context has been cancelled")
		tr.bothErrors(got.err, context.Canceled)
	}},
	{"Acquire that gave up holds nothing", func(tr *trial, s LockerSubject) {
		lock := tr.take(s.A, job, "nobody holds it")
		tr.giveUp(s.B, job, "it is held")
		tr.unlock(lock)
		tr.unlock(tr.take(s.A, job, "whoever waited for it has given up"))
	}},
	{"a lock handed over while the wait is cancelled is not orphaned", func(tr *trial, s LockerSubject) {
		for round := range 6 {
			lock := tr.take(s.A, job, "whoever held or wanted it is gone")
			ctx, cancel := context.WithCancel(tr.ctx)
			var waiting []<-chan acquired
			for i := range 4 {
				waiting = append(waiting, tr.acquiring(ctx, s.either(i), job))
			}
			tr.giveUp(s.B, job, "it is held") // meanwhile the others wait
			switch round % 3 {
			case 0:
				go cancel()
				tr.unlock(lock)
			case 1:
				tr.unlock(lock)
				cancel()
			case 2:
				cancel()
				tr.unlock(lock)
			}
			for _, w := range waiting {
				got := await(tr, w, "Acquire returns once its context has been cancelled")
				if got.err == nil {
					tr.unlock(got.lock)
					continue
				}
				tr.bothErrors(got.err, context.Canceled)
			}
			cancel()
		}
		tr.take(s.A, job, "whoever held or wanted it is gone")
	}},
	{"a context that has ended takes nothing", func(tr *trial, s LockerSubject) {
		if _, err := s.A.TryAcquire(tr.ended(), job); !errors.Is(err, context.Canceled) {
			tr.fail("TryAcquire with a context that had been cancelled: %v; want its error", err)
		}
		_, err := s.A.Acquire(tr.ended(), job)
		tr.bothErrors(err, context.Canceled)
		tr.take(s.B, job, "a context that has ended takes nothing")
	}},
	{"the context of the wait does not bound the hold", func(tr *trial, s LockerSubject) {
		ctx, cancel := context.WithCancel(tr.ctx)
		defer cancel()
		tried, err := s.A.TryAcquire(ctx, job)
		if err != nil {
			tr.fail("TryAcquire(%q): %v; want the lock: nobody holds it", job, err)
		}
		waited, err := s.A.Acquire(ctx, "another job")
		if err != nil {
			tr.fail("Acquire of a free name: %v; want the lock", err)
		}
		cancel()
		for _, lock := range []relay.Lock{tried, waited} {
			tr.giveUp(s.B, lock.Name(), "it is held, and the end of the context that it was taken with changes nothing")
			tr.notLost(lock, "only the context that it was taken with has ended")
			tr.unlock(lock)
		}
	}},

	{"Release runs although its context has ended", func(tr *trial, s LockerSubject) {
		lock := tr.take(s.A, job, "nobody holds it")
		if err := lock.Release(tr.ended()); err != nil {
			tr.fail("Release with a context that had ended: %v; want nil: it is detached from it", err)
		}
		tr.take(s.B, job, "Release gives it up also when the context has ended")
	}},
	{"a second Release does nothing and answers the same", func(tr *trial, s LockerSubject) {
		lock := tr.take(s.A, job, "nobody holds it")
		tr.unlock(lock)
		tr.take(s.B, job, "it was released")
		tr.unlock(lock)
		tr.refuse(s.A, job, "a second Release must not free the lock of the next holder")
		tr.giveUp(s.A, job, "a second Release must not free the lock of the next holder")

		own := tr.take(s.A, "another job", "nobody holds it")
		tr.unlock(own)
		tr.take(s.A, own.Name(), "it was released")
		tr.unlock(own)
		tr.refuse(s.B, own.Name(), "a second Release must not free the lock of the next holder in its own process")
	}},
	{"Release is no loss", func(tr *trial, s LockerSubject) {
		lock := tr.take(s.A, job, "nobody holds it")
		tr.notLost(lock, "nothing has happened to it")
		tr.unlock(lock)
		tr.notLost(lock, "it was given up, and Lost tells only of a loss")
		tr.take(s.B, job, "it was released")
		tr.notLost(lock, "it was given up, and Lost tells only of a loss")
	}},
	{"WithLock holds the lock while the function runs, and no longer", func(tr *trial, s LockerSubject) {
		err := relay.WithLock(tr.ctx, s.A, job, func(ctx context.Context) error {
			if ctx.Err() != nil {
				tr.fail("WithLock's context has ended while the lock is held: %v", context.Cause(ctx))
			}
			tr.refuse(s.B, job, "WithLock holds it")
			return nil
		})
		if err != nil {
			tr.fail("WithLock: %v; want nil", err)
		}
		tr.take(s.B, job, "WithLock has returned")
	}},
	{"of many that contend, one is inside at a time and each gets its turn", func(tr *trial, s LockerSubject) {
		const contenders, turns = 8, 5
		var inside atomic.Int32
		lock := tr.take(s.A, job, "nobody holds it")
		inside.Add(1)
		finish := tr.begin(contenders, func(i int) error {
			for range turns {
				lock, err := s.either(i).Acquire(tr.ctx, job)
				if err != nil {
					return fmt.Errorf("under contention Acquire(%q): %w; want the lock", job, err)
				}
				n := inside.Add(1)
				runtime.Gosched() // an intruder may come now
				inside.Add(-1)
				if err := lock.Release(tr.ctx); err != nil {
					return fmt.Errorf("under contention Release: %w; want nil", err)
				}
				if n != 1 {
					return fmt.Errorf("%d holders of one lock at a time", n)
				}
			}
			return nil
		})
		tr.giveUp(s.B, job, "it is held") // meanwhile they all wait
		inside.Add(-1)
		tr.unlock(lock)
		finish()
		tr.take(s.A, job, "all have released it")
	}},

	{"a lock that is lost says so", func(tr *trial, s LockerSubject) {
		s.needsLose(tr)
		lock := tr.take(s.A, job, "nobody holds it")
		tr.lose(s, lock)
		err := lock.Release(tr.ctx)
		if !errors.Is(err, relay.ErrLost) {
			tr.fail("Release of a lost lock: %v; want an error that matches ErrLost", err)
		}
		if again := lock.Release(tr.ctx); !errors.Is(again, relay.ErrLost) {
			tr.fail("second Release of a lost lock: %v; want what the first returned: %v", again, err)
		}
	}},
	{"a lock that is lost can be taken again", func(tr *trial, s LockerSubject) {
		s.needsLose(tr)
		lost := tr.take(s.A, job, "nobody holds it")
		tr.lose(s, lost)
		next := tr.acquire(s.B, job, "its holder has lost it")
		_ = lost.Release(tr.ctx)
		tr.refuse(s.A, job, "Release of a lost lock must not free the lock of the next holder")
		tr.unlock(next)
		tr.acquire(s.A, job, "a Locker goes on after a loss")
	}},
	{"a loss after the release changes nothing", func(tr *trial, s LockerSubject) {
		s.needsLose(tr)
		released := tr.take(s.A, job, "nobody holds it")
		tr.unlock(released)
		other := tr.take(s.A, "another job", "nobody holds it")
		tr.lose(s, other)
		tr.notLost(released, "it had been given up before")
		tr.unlock(released)
	}},

	{"Close frees what is held and tells its holders", func(tr *trial, s LockerSubject) {
		s.needsClose(tr)
		released := tr.take(s.A, "another job", "nobody holds it")
		tr.unlock(released)
		lock := tr.take(s.A, job, "nobody holds it")
		tr.close(s.Close)
		await(tr, lock.Lost(), "Lost closes when the Locker is closed")
		tr.acquire(s.B, job, "the Locker of its holder was closed")
		for range 2 {
			err := lock.Release(tr.ctx)
			if !errors.Is(err, relay.ErrLost) || !errors.Is(err, relay.ErrClosed) {
				tr.fail("Release of a lock whose Locker was closed: %v; want an error that matches ErrLost and ErrClosed", err)
			}
		}
		tr.notLost(released, "it had been given up before")
		tr.unlock(released)
	}},
	{"Close ends a wait with ErrClosed", func(tr *trial, s LockerSubject) {
		s.needsClose(tr)
		lock := tr.take(s.B, job, "nobody holds it")
		waiting := tr.acquiring(tr.ctx, s.A, job)
		tr.giveUp(s.A, job, "it is held") // meanwhile the other one waits
		tr.close(s.Close)
		got := await(tr, waiting, "Acquire returns when its Locker is closed")
		if !errors.Is(got.err, relay.ErrClosed) {
			tr.fail("Acquire that waited when its Locker was closed: %v; want an error that matches ErrClosed", got.err)
		}
		tr.unlock(lock)
		tr.take(s.B, job, "whoever waited for it was told that its Locker is closed")
	}},
	{"after Close every call is ErrClosed", func(tr *trial, s LockerSubject) {
		s.needsClose(tr)
		tr.close(s.Close)
		if _, err := s.A.TryAcquire(tr.ctx, job); !errors.Is(err, relay.ErrClosed) {
			tr.fail("TryAcquire after Close: %v; want an error that matches ErrClosed", err)
		}
		if _, err := s.A.Acquire(tr.ctx, job); !errors.Is(err, relay.ErrClosed) {
			tr.fail("Acquire after Close: %v; want an error that matches ErrClosed", err)
		}
		tr.close(s.Close)
		tr.take(s.B, job, "Close of one Locker leaves the others alone")
	}},
}
