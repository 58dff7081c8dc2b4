package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// Holder is who holds a lock, as the server sees it.
type Holder struct {
	Name        string
	PID         int       // of the server session: pg_terminate_backend takes it
	Application string    // application_name
	Address     string    // of the client; empty on a unix socket, or if your role may not see it
	Since       time.Time // when the session began, not the hold; by the server's clock, zero if your role may not see it
	Waiting     int       // other sessions that wait for the lock; a Locker counts once, the holder's own never
}

// holdersSQL reads the keys' exclusive locks, and counts for each who waits:
// registered as a waiter (a Locker, once for all its callers), or in the
// server's own queue (LockTx). Without pg_read_all_stats the client's address
// and the session's start are NULL for sessions of other roles. Argument: keys.
const holdersSQL = `
with ours as (
    select classid::int8 << 32 | objid::int8 as key, pid, mode, granted
    from pg_locks
    where locktype = 'advisory' and objsubid = 1
      and database = (select oid from pg_database where datname = current_database()))
select ours.key, ours.pid, coalesce(a.application_name, ''), coalesce(host(a.client_addr), ''),
    coalesce((extract(epoch from a.backend_start) * 1000000)::int8, 0),
    (select count(distinct waiting.pid) from ours as waiting where waiting.pid <> ours.pid and (
        waiting.key = ours.key and not waiting.granted
        or waiting.key = (ours.key & 4294967295 | 6287387179912003584) and waiting.granted and waiting.mode = 'ShareLock'))
from ours left join pg_stat_activity as a using (pid)
where ours.granted and ours.mode = 'ExclusiveLock' and ours.key = any ($1::int8[])
order by ours.pid`

// Holders tells who holds the named locks, in the order of the names; without
// names, those that this Locker holds or waits for. A name that nobody holds is
// left out. A holder of a transaction lock (TryLockTx, LockTx) is told too.
//
// It looks on a session of its own, which it opens and closes, so that a
// question about the locks never endangers them. It also works on a standby,
// where no Locker holds any. Two names that share a key (see LockKey) have the same
// holder.
func (l *Locker) Holders(ctx context.Context, names ...string) ([]Holder, error) {
	if l.isClosed() {
		return nil, errClosed("holders")
	}
	for _, name := range names {
		if err := relay.ValidateName(name); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		names = l.known()
	}
	ctx, stop := l.life.bound(ctx)
	defer stop()
	if err := endOf(ctx); err != nil {
		return nil, fmt.Errorf("relay/postgres: holders: %w", err)
	}
	if len(names) == 0 {
		return nil, nil
	}
	rows, err := l.askHolders(ctx, names)
	if err != nil {
		panicOn(err)
		return nil, wrap("holders", endOr(ctx, err))
	}
	byKey := make(map[string][][]string, len(rows))
	for _, row := range rows {
		byKey[row[0]] = append(byKey[row[0]], row)
	}
	var holders []Holder
	for _, name := range names {
		for _, row := range byKey[strconv.FormatInt(LockKey(name), 10)] {
			holder, err := parseHolder(name, row)
			if err != nil {
				return nil, err
			}
			holders = append(holders, holder)
		}
	}
	return holders, nil
}

func (l *Locker) askHolders(ctx context.Context, names []string) ([][]string, error) {
	s, err := l.source.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { s.close(time.Now().Add(goodbye)) }()
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = strconv.FormatInt(LockKey(name), 10)
	}
	answers, err := s.ask(ctx, time.Now().Add(l.cfg.RequestTimeout), stmt(holdersSQL, "{"+strings.Join(keys, ",")+"}"))
	if err != nil {
		return nil, err
	}
	return answers[0].rows, nil
}

func parseHolder(name string, row []string) (h Holder, err error) {
	h = Holder{Name: name, Application: row[2], Address: row[3]}
	if h.PID, err = strconv.Atoi(row[1]); err == nil && row[4] != "0" {
		h.Since, err = fromMicros(row[4])
	}
	if err == nil {
		h.Waiting, err = strconv.Atoi(row[5])
	}
	if err != nil {
		return h, fmt.Errorf("relay/postgres: holders of %q: %w", name, err)
	}
	return h, nil
}

// known are the names that are held or waited for here, sorted bytewise.
func (l *Locker) known() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make(map[string]bool, len(l.slots))
	for _, s := range l.slots {
		if s.lock != nil && !s.lock.over {
			found[s.lock.name] = true
		}
		for _, c := range s.askers {
			found[c.name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
