//go:build unix

package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/postgres"
)

// On a server of its own: a transaction that writes, in whatever database, keeps
// the rows that died since it began in their pages, and then an update finds no
// room beside its row.
func TestLeaseStore_RenewalsLeaveTheIndexAlone(t *testing.T) {
	db := newServer(t, "autovacuum=off")
	db.migrate(t)
	eventually(t, func(t *testing.T) error {
		db.exec(t, "select pg_stat_reset()")
		store, err := postgres.NewLeaseStore(db.config(t), postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
		require.NoError(t, err)
		for range 40 {
			var calls sync.WaitGroup
			for i := range 200 {
				calls.Go(func() {
					if err := renew(t, store, fmt.Sprint("role ", i)); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
		}
		require.NoError(t, store.Close(t.Context())) // the server counts at the end of the session
		hot := query[float64](t, db.database, `select coalesce(n_tup_hot_upd / nullif(n_tup_upd, 0)::float8, 0)
			from pg_stat_user_tables where relname = 'relay_leases'`)
		if hot < 0.96 {
			return fmt.Errorf("%.2f of the updates touched no index", hot)
		}
		return nil
	})
}
