package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay"
)

var (
	_ relay.LeaseStore    = (*LeaseStore)(nil)
	_ relay.ReleaseWaiter = (*LeaseStore)(nil)
)

// LeaseStoreConfig tunes a LeaseStore. The zero value works.
type LeaseStoreConfig struct {
	// RequestTimeout bounds each call's round trip, 5 s by default and 1 h at
	// most; a sooner deadline of the call's context counts instead. The server
	// gives up after three quarters of it. Opening a session is bounded by it
	// or by 5 s, whichever is longer.
	RequestTimeout time.Duration

	// ApplicationName is the one in pg_stat_activity. By default it is the
	// connection string's, or "relay".
	ApplicationName string

	// Observer is told of calls that fail. Refusals are no failures, and what
	// becomes of a term is the elector's to tell.
	Observer relay.Observer
}

// LeaseStore keeps leases in the table relay_leases (see Migrate), one row for
// each role that was ever granted. The server's clock decides what is live. A
// pooler in transaction mode may sit between.
//
// A call is one transaction in one round trip, and grants, renewals, releases and
// reads of different roles that are made at the same time share one: a thousand
// renewals cost a round trip and a commit. They run on one session of the store's
// own. WaitReleased opens a second one, which is closed again when nobody has
// waited for a while.
//
// A call waits for its answer or for the end of its ctx, which cuts nothing
// short but the wait: what was sent runs on, the server gives it up after three
// quarters of the call's time, and other calls are not touched. A call for a row
// that somebody else keeps locked fails after a quarter of it; the others of its
// batch wait that long, and then go on without it.
//
// A grant is on disk before it is answered, also where the database defaults to
// an asynchronous commit, so that a crash of the server never hands out a token
// twice. What a failover or a restore can do is told in the package's
// documentation.
type LeaseStore struct {
	queue    leaseQueue
	listener releaseListener
	observe  relay.Observer
}

// NewLeaseStore makes a LeaseStore that connects as cfg says, which
// pgxpool.ParseConfig has to have made. Of cfg the connection and BeforeConnect
// count. It does not connect yet.
func NewLeaseStore(cfg *pgxpool.Config, storeCfg LeaseStoreConfig) (*LeaseStore, error) {
	timeout := cmp.Or(storeCfg.RequestTimeout, defaultRequestTimeout)
	if err := checkRequestTimeout(timeout); err != nil {
		return nil, err
	}
	source, err := newSource(cfg, storeCfg.ApplicationName, timeout)
	if err != nil {
		return nil, err
	}
	life := newLifetime()
	return &LeaseStore{
		queue:    leaseQueue{timeout: timeout, life: life, tx: transactor{source: source}},
		listener: releaseListener{source: source, timeout: timeout, life: life, observe: storeCfg.Observer},
		observe:  storeCfg.Observer,
	}, nil
}

// TryAcquireOrRenew grants or extends the role's lease, or refuses with a
// *relay.HeldError. It can also be ErrReadOnly, ErrNoTables, and
// relay.ErrTokensExhausted when a grant would have to go beyond
// relay.MaxToken. After any other error, of the network too, the outcome is
// unknown.
func (s *LeaseStore) TryAcquireOrRenew(ctx context.Context, role, owner string, ttl time.Duration) (relay.Lease, error) {
	err := errors.Join(relay.ValidateName(role), relay.ValidateName(owner), relay.ValidateTTL(ttl))
	if err != nil {
		return relay.Lease{}, err
	}
	r := s.ask(ctx, "lease", &leaseCall{kind: leaseTake, role: role, owner: owner, ttl: ttl})
	switch {
	case r.err != nil:
		return relay.Lease{}, r.err
	case r.written != nil:
		return parseLease(role, r.written)
	}
	return relay.Lease{}, refusal(role, r.found)
}

// refusal says why a role was not granted. found was read after the refusal: the
// lease may have ended, and even passed on, in between.
func refusal(role string, found []string) error {
	if found == nil {
		return fmt.Errorf("relay/postgres: lease of role %q: neither granted nor held: was its row deleted?", role)
	}
	holder, err := parseLease(role, found)
	if err != nil {
		return err
	}
	if live := found[3] == "t"; !live && holder.Token == relay.MaxToken {
		return fmt.Errorf("relay/postgres: lease of role %q: %w", role, relay.ErrTokensExhausted)
	}
	return &relay.HeldError{Lease: holder}
}

// Release ends the lease at once. It is relay.ErrNotHeld, and changes nothing,
// unless the lease is live and has this role, owner and token; its ExpiresAt
// does not matter.
func (s *LeaseStore) Release(ctx context.Context, lease relay.Lease) error {
	if err := errors.Join(relay.ValidateName(lease.Role), relay.ValidateName(lease.Owner)); err != nil {
		return err
	}
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("relay/postgres: release of the lease of role %q: %w", lease.Role, err)
	}
	if lease.Token < 1 { // no store has granted that
		return notHeld(lease)
	}
	r := s.ask(ctx, "release of the lease",
		&leaseCall{kind: leaseRelease, role: lease.Role, owner: lease.Owner, token: lease.Token})
	if r.err != nil {
		return r.err
	}
	if r.written == nil {
		return notHeld(lease)
	}
	return nil
}

func notHeld(lease relay.Lease) error {
	return fmt.Errorf("relay/postgres: release of the lease of role %q by %q with token %d: %w",
		lease.Role, lease.Owner, lease.Token, relay.ErrNotHeld)
}

// Current returns the live lease of a role, or relay.ErrNotHeld. It also works
// on a standby, as of what has arrived there.
func (s *LeaseStore) Current(ctx context.Context, role string) (relay.Lease, error) {
	if err := relay.ValidateName(role); err != nil {
		return relay.Lease{}, err
	}
	r := s.ask(ctx, "current lease", &leaseCall{kind: leaseRead, role: role})
	if r.err != nil {
		return relay.Lease{}, r.err
	}
	if r.found != nil && r.found[3] == "t" {
		return parseLease(role, r.found)
	}
	return relay.Lease{}, fmt.Errorf("relay/postgres: lease of role %q: %w", role, relay.ErrNotHeld)
}

// AdvanceToken makes the next grant of a role carry at least atLeast + 1: for
// the day after a restore or a failover, when the store may have forgotten
// tokens that a fenced resource remembers. A token that is already higher
// stays, and so does the expiry: the next renewal of a live holder is answered
// with atLeast + 1, which ends its term, and the grant after that has a higher one
// yet. 0 does nothing; below 0 is relay.ErrInvalidToken; at relay.MaxToken the
// role can never be granted again.
func (s *LeaseStore) AdvanceToken(ctx context.Context, role string, atLeast relay.Token) error {
	if err := relay.ValidateName(role); err != nil {
		return err
	}
	if atLeast < 0 {
		return fmt.Errorf("relay/postgres: %w: %d is below 0", relay.ErrInvalidToken, atLeast)
	}
	if atLeast == 0 {
		return s.usable(ctx)
	}
	return s.ask(ctx, "token of the lease", &leaseCall{kind: leaseAlone, role: role, statements: []statement{
		stmt(advanceTokenSQL, role, strconv.FormatInt(int64(atLeast), 10)),
	}}).err
}

// Close ends all calls with relay.ErrClosed and closes the sessions. Leases
// stay as they are, until they lapse. A second Close does nothing and returns
// nil.
func (s *LeaseStore) Close(ctx context.Context) error {
	return errors.Join(s.queue.close(ctx), s.listener.close(ctx))
}

// ask is the queue's do, with an error that says what was asked.
func (s *LeaseStore) ask(ctx context.Context, what string, c *leaseCall) leaseReply {
	began := time.Now()
	r := s.queue.do(ctx, c)
	if r.err != nil {
		panicOn(r.err)
		if c.role != "" {
			what = fmt.Sprintf("%s of role %q", what, c.role)
		}
		r.err = report(s.observe, relay.Event{Name: c.role, Owner: c.owner, Took: time.Since(began)}, what, r.err)
	}
	return r
}

// usable is nil while the store is open and ctx has not ended.
func (s *LeaseStore) usable(ctx context.Context) error {
	ctx, stop := s.queue.life.bound(ctx)
	defer stop()
	return endOf(ctx)
}

// parseLease reads owner, token and expiry.
func parseLease(role string, row []string) (relay.Lease, error) {
	token, err := strconv.ParseInt(row[1], 10, 64)
	if err != nil {
		return relay.Lease{}, fmt.Errorf("relay/postgres: token of role %q: %w", role, err)
	}
	expiresAt, err := fromMicros(row[2])
	if err != nil {
		return relay.Lease{}, fmt.Errorf("relay/postgres: lease of role %q: %w", role, err)
	}
	return relay.Lease{Role: role, Owner: row[0], Token: relay.Token(token), ExpiresAt: expiresAt}, nil
}
