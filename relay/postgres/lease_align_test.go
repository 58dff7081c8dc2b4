package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
	"github.com/relay-samples/relay-go/relay/postgres"
)

// Of several periods the second best counts: on a busy machine some of a
// thousand goroutines come late.
func TestLeaseStore_AThousandElectorsRenewInThreeRoundTripsAPeriodOnTwoSessions(t *testing.T) {
	takesLong(t)
	db := newMigratedDatabase(t)
	const roles, interval = 1000, 2 * time.Second
	store, sent := flushes(t, db, "begin isolation", postgres.LeaseStoreConfig{})
	var led, renewed, failed atomic.Int32
	elector, err := relay.NewLeaseElector(store, relay.LeaseElectorConfig{
		Owner: "process", TTL: 12 * time.Second, RenewInterval: interval, RequestTimeout: 4 * time.Second,
		Observer: func(e relay.Event) {
			switch e.Kind {
			case relay.EventElected:
				led.Add(1)
			case relay.EventRenewed:
				renewed.Add(1)
			case relay.EventFailed, relay.EventLost:
				failed.Add(1)
				t.Logf("%s: %v", e.Kind, e.Err)
			}
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var electors sync.WaitGroup
	for i := range roles {
		electors.Go(func() {
			err := elector.Run(ctx, fmt.Sprint("role ", i), func(ctx context.Context, _ relay.Term) error {
				<-ctx.Done()
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v", err)
			}
		})
	}
	for led.Load() < roles {
		db.sleep(t, 10*time.Millisecond)
		require.NoError(t, t.Context().Err())
	}
	var periods []int32
	for renewed.Load() < roles { // the first period may be cut short
		db.sleep(t, 10*time.Millisecond)
	}
	for range 4 {
		done, before := renewed.Load()/roles, sent.Load()
		for renewed.Load() < (done+1)*roles {
			db.sleep(t, 10*time.Millisecond)
			require.NoError(t, t.Context().Err())
		}
		periods = append(periods, sent.Load()-before)
	}
	require.LessOrEqual(t, db.sessions(t), 2)
	cancel()
	electors.Wait()
	t.Logf("round trips a period: %v", periods)
	require.Zero(t, failed.Load())
	few := 0
	for _, n := range periods {
		if n <= 3 {
			few++
		}
	}
	require.GreaterOrEqual(t, few, 2, "round trips in each period: %v", periods)
	require.Zero(t, query[int](t, db, "select count(*) from relay_leases where expires_at > clock_timestamp()"))
}

// How much a renewal in a batch costs beside one that goes alone.
func BenchmarkLeaseStore_Renewals(b *testing.B) {
	db := newMigratedDatabase(b)
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := db.leases(b, postgres.LeaseStoreConfig{RequestTimeout: time.Minute})
			roles := make([]string, n)
			for i := range roles {
				roles[i] = fmt.Sprint("role ", i)
			}
			for b.Loop() {
				var calls sync.WaitGroup
				for _, role := range roles {
					calls.Go(func() {
						if err := renew(b, store, role); err != nil {
							b.Error(err)
						}
					})
				}
				calls.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/renewal")
		})
	}
}
