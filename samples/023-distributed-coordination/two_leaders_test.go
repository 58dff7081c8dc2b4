package coordination_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay/postgres"
)

func TestTwoLeaders_OverlapAfterAPartitionAndIdempotentWorkSurvivesIt(t *testing.T) {
	db := newDatabase(t)
	db.execute(t, `create table statements (month text primary key)`)
	db.execute(t, `create table mails (month text)`) // the same, without a key

	// job is what the leader does: once a month, it says.
	job := func() {
		db.execute(t, `insert into statements values ('2026-03') on conflict do nothing`)
		db.execute(t, `insert into mails values ('2026-03')`)
	}

	// Instance A leads, over a cable that can be cut.
	cable := &cable{}
	far := db.Config.Copy()
	far.ConnConfig.DialFunc = cable.dial
	lockerA, err := postgres.NewLocker(far, postgres.LockerConfig{RequestTimeout: 100 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { _ = lockerA.Close(context.Background()) })
	a := hold(t, lockerA, "leader:statements")

	// A's connection breaks at the server's end alone. The server frees the
	// lock; A hears nothing, and believes until T − m after its last answered
	// ping.
	cable.cut()
	b, err := db.newLocker(t).Acquire(t.Context(), "leader:statements")
	require.NoError(t, err, "instance B is elected")

	require.False(t, lost(a), "A believes that it leads")
	require.False(t, lost(b), "and so does B")
	job() // A's
	job() // B's

	require.Equal(t, 1, db.count(t, "statements"), "a unique key makes the second run harmless: assume at least one leader")
	require.Equal(t, 2, db.count(t, "mails"), "what has no key happens twice")
}

// cable carries a client's connections until it is cut. The client then sends
// into the void and hears nothing, not even that the connection is closed.
type cable struct {
	mu      sync.Mutex // guards what follows
	isCut   bool
	servers []net.Conn
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	server, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.servers = append(c.servers, server)
	c.mu.Unlock()
	client, far := net.Pipe()
	go func() {
		_, _ = io.Copy(server, far)
		_ = server.Close()
	}()
	go func() {
		_, _ = io.Copy(far, server)
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.isCut {
			_ = far.Close()
		}
	}()
	return client, nil
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	for _, server := range c.servers {
		_ = server.Close()
	}
}
