package postgres_test

import (
	"context"
	"errors"
	"math"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestLocker_ASessionIsIndependentOfWhatTheRoleSets(t *testing.T) {
	takesLong(t)
	db := newDatabase(t)
	cfg := db.config(t)
	cfg.ConnConfig.RuntimeParams["idle_session_timeout"] = "1s"
	cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	lock := take(t, newLocker(t, cfg, postgres.LockerConfig{}), "job")
	db.sleep(t, 1500*time.Millisecond)
	require.NoError(t, lock.Release(t.Context()))
}

func TestLocker_AStandbyGrantsNothing(t *testing.T) {
	db := newDatabase(t)
	lock, err := newLocker(t, db.pretendStandby(t), postgres.LockerConfig{}).TryAcquire(t.Context(), "job")
	require.Nil(t, lock)
	require.ErrorIs(t, err, postgres.ErrReadOnly)
	require.NotErrorIs(t, err, relay.ErrNotAcquired)
	require.Zero(t, db.sessions(t))
}

// pretendStandby returns a config whose sessions believe that they are on a
// standby.
func (d *database) pretendStandby(t testing.TB) *pgxpool.Config {
	t.Helper()
	d.exec(t, "create function public.pg_is_in_recovery() returns bool language sql as 'select true'")
	cfg := d.config(t)
	cfg.ConnConfig.RuntimeParams["search_path"] = "public, pg_catalog"
	return cfg
}

func TestLocker_ItsSessionsAskWhoIsThereBeforeTheySet(t *testing.T) {
	db := newDatabase(t)
	for _, ttl := range []time.Duration{
		10 * time.Millisecond, time.Second, 30 * time.Second, 10 * time.Hour, 24 * 24 * time.Hour,
	} {
		cfg := db.config(t)
		var mu sync.Mutex
		var sent strings.Builder
		newSniffer(t, cfg).toServer = func(data []byte) {
			mu.Lock()
			defer mu.Unlock()
			sent.Write(data)
		}
		locker := newLocker(t, cfg, postgres.LockerConfig{TTL: ttl})
		_, err := locker.Acquire(t.Context(), "job")
		if ttl >= time.Second { // a shorter one may run out on a busy machine
			require.NoError(t, err)
		}
		require.NoError(t, locker.Close(t.Context()))
		mu.Lock()
		statements := sent.String()
		mu.Unlock()

		asked := strings.Index(statements, "pg_backend_pid")
		require.Positive(t, asked)
		require.Less(t, asked, strings.Index(statements, "set "), "a SET through a pooler reaches somebody else's session")
		setting := func(name string) time.Duration {
			found := regexp.MustCompile(`set ` + name + ` = (\d+)`).FindStringSubmatch(statements)
			require.NotNil(t, found, "%s is set", name)
			n, err := strconv.ParseInt(found[1], 10, 32) // the server's limit
			require.NoError(t, err)
			return time.Duration(n)
		}
		require.Contains(t, statements, "set_config('transaction_timeout', '0', false)", "PostgreSQL 17")
		require.Contains(t, statements, "default_transaction_isolation = 'read committed'")
		require.Equal(t, ttl, setting("idle_session_timeout")*time.Millisecond)
		require.GreaterOrEqual(t, setting("tcp_user_timeout")*time.Millisecond, ttl)
		idle, interval, count := setting("tcp_keepalives_idle"), setting("tcp_keepalives_interval"), setting("tcp_keepalives_count")
		require.GreaterOrEqual(t, (idle+interval*count)*time.Second, ttl,
			"the server's TCP must not free the lock while the holder relies on it")
		require.LessOrEqual(t, max(idle, interval), time.Duration(32_767), "Linux takes no more")
		require.LessOrEqual(t, count, time.Duration(127), "Linux takes no more")
	}
}

func TestNewLocker_RefusesWithTheInequalityThatDoesNotHold(t *testing.T) {
	cfg, err := pgxpool.ParseConfig("postgres://localhost/db")
	require.NoError(t, err)
	for want, bad := range map[string]postgres.LockerConfig{
		"is not between 1ms and 576h0m0s":                         {TTL: 25 * 24 * time.Hour},
		"TTL -1s is not between":                                  {TTL: -time.Second, RequestTimeout: 1, RetryInterval: 1},
		"Margin -1ns is negative":                                 {Margin: -1},
		"RequestTimeout -1ns is negative":                         {RequestTimeout: -1},
		"RequestTimeout 1h0m0.000000001s > 1h0m0s":                {TTL: 24 * time.Hour, RequestTimeout: time.Hour + 1},
		"TTL/3 10s + RequestTimeout 17s + Margin 3s >= TTL 30s":   {RequestTimeout: 17 * time.Second},
		"TTL/3 1s + RequestTimeout 500ms + Margin 1.5s >= TTL 3s": {TTL: 3 * time.Second, Margin: 1500 * time.Millisecond},
		"RetryInterval -1ns is negative":                          {RetryInterval: -1},
		"Margin 2562047h47m16.854775807s >= TTL":                  {Margin: math.MaxInt64},
		"MaxHeld -1 is negative":                                  {MaxHeld: -1},
		"contains NUL":                                            {ApplicationName: "a\x00b"},
	} {
		_, err := postgres.NewLocker(cfg, bad)
		require.ErrorContains(t, err, want)
	}
	for what, good := range map[string]postgres.LockerConfig{
		"the defaults fit the longest TTL too": {TTL: 24 * 24 * time.Hour},
		"waiters may rely on wake-ups alone":   {RetryInterval: math.MaxInt64},
	} {
		_, err = postgres.NewLocker(cfg, good)
		require.NoError(t, err, what)
	}
}

func TestConstructors_AConfigThatPgxPanicsOnIsAnError(t *testing.T) {
	parsed, err := pgxpool.ParseConfig("postgres://localhost/db")
	require.NoError(t, err)
	handMadeInside := parsed.Copy()
	handMadeInside.ConnConfig = &pgx.ConnConfig{}
	for why, cfg := range map[string]*pgxpool.Config{
		"nil":                    nil,
		"hand-made":              {},
		"hand-made, from parsed": {ConnConfig: parsed.ConnConfig, MaxConns: 4},
		"hand-made inside":       handMadeInside,
	} {
		_, err := postgres.NewLocker(cfg, postgres.LockerConfig{})
		require.ErrorContains(t, err, "ParseConfig", why)
		_, err = postgres.NewLeaseStore(cfg, postgres.LeaseStoreConfig{})
		require.ErrorContains(t, err, "ParseConfig", why)
		_, err = postgres.NewNodeRegistry(cfg, "group", 0, postgres.NodeRegistryConfig{})
		require.ErrorContains(t, err, "ParseConfig", why)
	}
}

func TestNewLocker_CopiesItsConfigAndUsesBeforeConnect(t *testing.T) {
	db := newDatabase(t)
	cfg := db.config(t)
	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.RuntimeParams["application_name"] = "set before connect"
		return nil
	}
	locker := newLocker(t, cfg, postgres.LockerConfig{})
	cfg.ConnConfig.Database = "nowhere"
	cfg.ConnConfig.RuntimeParams["search_path"] = "nowhere"
	cfg.BeforeConnect = func(context.Context, *pgx.ConnConfig) error { return errors.New("set too late") }

	take(t, locker, "job")
	require.Equal(t, "set before connect", query[string](t, db,
		"select application_name from pg_stat_activity where pid = $1", db.holder(t, "job")))
}

func TestLocker_APanicOfTheUsersCallbackLeavesNothing(t *testing.T) {
	db := newDatabase(t)
	take(t, db.locker(t, postgres.LockerConfig{ApplicationName: "holder"}), "job")
	locker := db.locker(t, postgres.LockerConfig{Jitter: func(time.Duration) time.Duration { panic("jitter") }})
	require.PanicsWithValue(t, "jitter", func() { _, _ = locker.Acquire(t.Context(), "job") })
	take(t, locker, "another job")
	require.NoError(t, locker.Close(t.Context()), "it waits for nobody")
	require.Equal(t, 1, db.locks(t), "the holder's alone")
	require.Zero(t, db.sessions(t))
}

func TestConnect_ABeforeConnectThatPutsAHandMadeConfigIsAnError(t *testing.T) {
	db := newMigratedDatabase(t)
	cfg := db.config(t)
	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		*c = pgx.ConnConfig{}
		return nil
	}
	_, err := newLocker(t, cfg, postgres.LockerConfig{}).TryAcquire(t.Context(), "job")
	require.ErrorContains(t, err, "BeforeConnect")
	require.ErrorContains(t, err, "ParseConfig")
	_, err = newLeases(t, cfg, postgres.LeaseStoreConfig{}).Current(t.Context(), role)
	require.ErrorContains(t, err, "BeforeConnect")

	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.RuntimeParams = nil
		return nil
	}
	take(t, newLocker(t, cfg, postgres.LockerConfig{}), "job")
}

// A session is opened for everybody who waits, on a goroutine of the adapter's.
func TestConnect_APanicOfTheUsersPassesThroughTheCallThatWaits(t *testing.T) {
	cfg, err := pgxpool.ParseConfig("postgres://localhost/db")
	require.NoError(t, err)
	cfg.BeforeConnect = func(context.Context, *pgx.ConnConfig) error { panic("user") }
	locker := newLocker(t, cfg, postgres.LockerConfig{})
	store := newLeases(t, cfg, postgres.LeaseStoreConfig{})
	registry, err := postgres.NewNodeRegistry(cfg, "group", 0, postgres.NodeRegistryConfig{})
	require.NoError(t, err)
	for what, call := range map[string]func(ctx context.Context) error{
		"TryAcquire":   func(ctx context.Context) error { _, err := locker.TryAcquire(ctx, "job"); return err },
		"Acquire":      func(ctx context.Context) error { _, err := locker.Acquire(ctx, "job"); return err },
		"Holders":      func(ctx context.Context) error { _, err := locker.Holders(ctx, "job"); return err },
		"Current":      func(ctx context.Context) error { _, err := store.Current(ctx, role); return err },
		"WaitReleased": func(ctx context.Context) error { return store.WaitReleased(ctx, role) },
		"Heartbeat":    func(ctx context.Context) error { return registry.Heartbeat(ctx, "node") },
	} {
		require.PanicsWithValue(t, "user", func() { _ = call(t.Context()) }, what)
	}
	require.NoError(t, registry.Close(t.Context()))
}

// Of two addresses the first may take connections and never answer.
func TestConnect_ASilentAddressLeavesTimeForTheNext(t *testing.T) {
	const silent, other = "192.0.2.1", "192.0.2.2"
	db := newMigratedDatabase(t)
	for why, c := range map[string]struct {
		arrange func(c *pgx.ConnConfig)
		atMost  time.Duration // of the 5 s in which a session has to be open
	}{
		"of two hosts": {func(c *pgx.ConnConfig) {
			c.Fallbacks = []*pgconn.FallbackConfig{{Host: other, Port: c.Port}}
		}, 2500 * time.Millisecond},
		"of one host": {func(c *pgx.ConnConfig) {
			c.LookupFunc = func(context.Context, string) ([]string, error) { return []string{silent, other}, nil }
		}, 2500 * time.Millisecond},
		"where the user waits less": {func(c *pgx.ConnConfig) {
			c.ConnectTimeout = time.Second
			c.Fallbacks = []*pgconn.FallbackConfig{{Host: other, Port: c.Port}}
		}, time.Second},
	} {
		t.Run(why, func(t *testing.T) {
			cfg := db.config(t)
			newSniffer(t, cfg) // without TLS
			network, address := pgconn.NetworkAddress(cfg.ConnConfig.Host, cfg.ConnConfig.Port)
			cfg.ConnConfig.DialFunc = func(ctx context.Context, _, to string) (net.Conn, error) {
				if strings.HasPrefix(to, silent) {
					deadline, bounded := ctx.Deadline()
					require.True(t, bounded)
					require.LessOrEqual(t, time.Until(deadline), c.atMost)
					return nil, errors.New("silent")
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			cfg.ConnConfig.Host = silent
			c.arrange(cfg.ConnConfig)
			_, err := newLeases(t, cfg, postgres.LeaseStoreConfig{}).TryAcquireOrRenew(t.Context(), why, "owner", time.Hour)
			require.NoError(t, err)
		})
	}
}
