package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestLocker_ItsSessionsSetWhateverCouldEndThemOrLetThemWait(t *testing.T) {
	for name, c := range map[string]struct {
		limits postgres.LockerConfig
		want   []string
	}{
		"round": {slow, []string{
			"set statement_timeout = 3750", "set lock_timeout = 2500", "set idle_session_timeout = 30000",
			"set tcp_user_timeout = 30000", "set tcp_keepalives_idle = 30",
		}},
		"tiny": {postgres.LockerConfig{TTL: 1500 * time.Microsecond, RequestTimeout: time.Microsecond}, []string{
			"set statement_timeout = 1", "set lock_timeout = 1", // 0 would be no limit
			"set idle_session_timeout = 2", "set tcp_user_timeout = 2", // not before the holder steps down
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, cfg := newToy(t)
				take(t, newLocker(t, cfg, c.limits), "job")
				for _, setting := range append(c.want, "set idle_in_transaction_session_timeout = 0",
					"set default_transaction_isolation = 'read committed'") {
					require.Equal(t, 1, server.times(setting), setting)
				}
			})
		})
	}
}

func TestLocker_OnlyAServerOlderThan14HasNoDeadMan(t *testing.T) {
	for version, lacks := range map[string]bool{
		"9.6.24": true, "13.22 (Debian 13.22-1)": true, "14.0": false, "15.13": false, "19devel": false, "20beta1": false,
	} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, cfg := newToy(t)
				server.version = version
				var told atomic.Int32
				limits := slow
				limits.Observer = func(e relay.Event) {
					if e.Kind == relay.EventFailed {
						told.Add(1)
					}
				}
				take(t, newLocker(t, cfg, limits), "job")
				synctest.Wait()
				require.Equal(t, lacks, told.Load() == 1)
				require.Equal(t, lacks, server.times("set idle_session_timeout = 30000") == 0)
			})
		})
	}
}

func TestLocker_AServerThatCannotBeReachedIsNotAskedAsFastAsCallersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cfg := newToy(t)
		dials := 0
		cfg.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, errors.New("nobody there")
		}
		locker := newLocker(t, cfg, slow)
		began := time.Now()
		for range 20 {
			_, err := locker.TryAcquire(t.Context(), "job")
			require.ErrorContains(t, err, "nobody there")
		}
		require.Equal(t, 20, dials)
		require.Greater(t, time.Since(began), 2*time.Second)
	})
}

func TestLocker_ClosePromptlyEndsASessionThatIsParkedOrWaitsForAPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cfg := newToy(t)
		parked := newLocker(t, cfg, slow)
		take(t, parked, "parked")
		time.Sleep(time.Second)
		began := time.Now()
		require.NoError(t, parked.Close(t.Context()))
		require.Zero(t, time.Since(began))

		server, cfg := newToy(t)
		server.onAnswer(func(what string) {
			if what == "select 1" {
				time.Sleep(time.Hour)
			}
		})
		silent := newLocker(t, cfg, slow)
		take(t, silent, "silent")
		time.Sleep(11 * time.Second) // the ping is out, and would be waited for until TTL − Margin
		require.Equal(t, 1, server.times("select 1"))
		began = time.Now()
		require.NoError(t, silent.Close(t.Context()))
		require.LessOrEqual(t, time.Since(began), 2*slow.RequestTimeout, "one for the answer, one for the goodbye")
	})
}

func TestLockTx_LeavesNoPreparedStatementOnTheUsersConnection(t *testing.T) {
	db := newDatabase(t)
	tx := db.begin(t, pgx.TxOptions{})
	_, err := postgres.TryLockTx(t.Context(), tx, "job")
	require.NoError(t, err)
	require.NoError(t, postgres.LockTx(t.Context(), tx, "job"))
	var left int
	require.NoError(t, tx.QueryRow(t.Context(), "select count(*) from pg_prepared_statements where statement like '%advisory%'",
		pgx.QueryExecModeExec).Scan(&left))
	require.Zero(t, left)
}

// A crash must not forget tables that Migrate has promised.
func TestMigrate_CommitsSynchronouslyWhateverTheDefault(t *testing.T) {
	db := newDatabase(t)
	db.exec(t, `create function demand() returns event_trigger language plpgsql as $$ begin
		if current_setting('synchronous_commit') <> 'on' then raise exception 'asynchronous'; end if; end $$`)
	db.exec(t, "create event trigger demand on ddl_command_end execute function demand()")
	cfg := db.config(t)
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, postgres.Migrate(t.Context(), pool))
}

// The server has one code for all kinds of memory that run out.
func TestLocker_OnlyAFullLockTableIsCalledOne(t *testing.T) {
	db := newDatabase(t)
	locker := newLocker(t, db.faulty(t, map[string]string{
		"pg_try_advisory_lock": fmt.Sprintf(`if k = %d then
			raise exception using errcode = '53200', hint = 'raise max_locks_per_transaction';
		end if;
		raise exception using errcode = '53200', message = 'out of memory';`, postgres.LockKey("table")),
	}), postgres.LockerConfig{})
	_, err := locker.TryAcquire(t.Context(), "table")
	require.ErrorIs(t, err, postgres.ErrLockTableFull)
	_, err = locker.TryAcquire(t.Context(), "memory")
	require.ErrorContains(t, err, "out of memory")
	require.NotErrorIs(t, err, postgres.ErrLockTableFull)
}

func TestLocker_CloseEndsACallWhoseQuestionIsStillQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cfg := newToy(t)
		locker := newLocker(t, cfg, slow)
		server.onAnswer(func(what string) {
			if what == "try" {
				time.Sleep(time.Second)
			}
		})
		asked, queued := try(t.Context(), locker, "job"), try(t.Context(), locker, "another job")
		require.NoError(t, locker.Close(t.Context()))
		require.ErrorIs(t, (<-asked).err, relay.ErrClosed)
		require.ErrorIs(t, (<-queued).err, relay.ErrClosed)
	})
}
