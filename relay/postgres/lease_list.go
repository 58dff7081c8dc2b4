package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// LeaseInfo is what a LeaseStore knows of a role. All times are the server's.
type LeaseInfo struct {
	// Lease is the last one that was granted, live or not, and its token the
	// role's. It has no Owner and no ExpiresAt if the role was never granted and
	// AdvanceToken alone has made it known.
	relay.Lease

	// AcquiredAt is when the lease was granted; renewals do not move it. Zero if
	// it never was.
	AcquiredAt time.Time

	Live bool
}

// List returns every role that was ever granted, or given a token by
// AdvanceToken, sorted bytewise. It also works on a standby, as of what has
// arrived there.
func (s *LeaseStore) List(ctx context.Context) ([]LeaseInfo, error) {
	const what = "list of the leases"
	r := s.ask(ctx, what, &leaseCall{kind: leaseAlone, statements: []statement{stmt(listLeasesSQL)}})
	if r.err != nil {
		return nil, r.err
	}
	list := make([]LeaseInfo, len(r.answers[0].rows))
	for i, row := range r.answers[0].rows {
		var err error
		if list[i], err = parseInfo(row); err != nil {
			return nil, fmt.Errorf("relay/postgres: %s: %w", what, err)
		}
	}
	return list, nil
}

// parseInfo reads role, owner, token, expiry, whether it is live, and since when.
func parseInfo(row []string) (LeaseInfo, error) {
	lease, err := parseLease(row[0], row[1:])
	if err != nil || lease.Owner == "" {
		lease.ExpiresAt = time.Time{}
		return LeaseInfo{Lease: lease}, err
	}
	acquiredAt, err := fromMicros(row[5])
	return LeaseInfo{Lease: lease, AcquiredAt: acquiredAt, Live: row[4] == "t"}, err
}
