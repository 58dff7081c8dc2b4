package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/memory"
)

const (
	role  = "writer"
	ttl   = 30 * time.Second
	pause = 40 * time.Second // longer than the lease, and A does not notice it
)

// The story begins at token 33, as in Kleppmann's article: as if the lock had
// been granted 32 times before.
const tokensBefore relay.Token = 32

// story is one lock service and the clock that it reads.
type story struct {
	say    func(line string) error
	now    time.Time
	leases *memory.LeaseStore
}

// tellBoth tells the story without a fence and then with one. Both use the same
// lock service, so the tokens go on rising.
func tellBoth(ctx context.Context, say func(line string) error) error {
	s := &story{say: say, now: time.Date(2016, time.February, 8, 12, 0, 0, 0, time.UTC)}
	s.leases = memory.NewLeaseStore(func() time.Time { return s.now })
	if err := s.leases.AdvanceToken(ctx, role, tokensBefore); err != nil {
		return err
	}
	if err := s.tell(ctx, "Without fencing:", &plainStorage{}); err != nil {
		return err
	}
	return s.tell(ctx, "With fencing:", &fencedStorage{})
}

// tell is the story:
//
//	A  |-- lease 33 ---------x                         write
//	   |--------- paused ------------------------------|
//	B                             |-- lease 34 - write --
//	   0                    30 s  40 s              time -->
func (s *story) tell(ctx context.Context, title string, to storage) error {
	if err := s.say(title); err != nil {
		return err
	}
	a, err := s.acquire(ctx, "A")
	if err != nil {
		return err
	}
	// While the lease lives, B is refused: the lock itself does its work.
	if _, err := s.leases.TryAcquireOrRenew(ctx, role, "B", ttl); !errors.Is(err, relay.ErrNotAcquired) {
		return fmt.Errorf("while A held the lock B was answered %v, not refused", err)
	}
	s.now = s.now.Add(pause)
	if err := s.line("A pauses for %.0f s (garbage collection); its %.0f s lease expires", pause.Seconds(), ttl.Seconds()); err != nil {
		return err
	}

	b, err := s.acquire(ctx, "B")
	if err != nil {
		return err
	}
	if err := s.write(to, b, "B's update"); err != nil {
		return err
	}
	// A wakes up and goes on where it stood: with the write.
	if err := s.write(to, a, "A's stale update"); err != nil {
		return err
	}
	if err := s.line("final value: %s", to.read()); err != nil {
		return err
	}
	return s.leases.Release(ctx, b)
}

func (s *story) acquire(ctx context.Context, client string) (relay.Lease, error) {
	lease, err := s.leases.TryAcquireOrRenew(ctx, role, client, ttl)
	if err != nil {
		return relay.Lease{}, err
	}
	return lease, s.line("%s acquires the lock, token %d", client, lease.Token)
}

// write sends the write of the lease's owner, with the lease's token, and tells
// how it went.
func (s *story) write(to storage, by relay.Lease, value string) error {
	err := to.write(by.Token, value)
	if stale, ok := errors.AsType[*relay.StaleTokenError](err); ok {
		return s.line("%s write REJECTED: token %d < %d", by.Owner, stale.Token, stale.Highest)
	}
	if err != nil {
		return err
	}
	if _, fenced := to.(*fencedStorage); fenced {
		return s.line("%s writes with token %d: value = %s", by.Owner, by.Token, to.read())
	}
	return s.line("%s writes: value = %s", by.Owner, to.read())
}

func (s *story) line(format string, args ...any) error {
	return s.say("  " + fmt.Sprintf(format, args...))
}
