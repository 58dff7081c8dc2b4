package postgres_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// proxy stands between an adapter and the server, on every connection made with
// its config. It can become a black hole: connections stay open on both sides,
// and nothing passes any more, no goodbye either.
type proxy struct {
	// toServer and toClient see what passes, before it does. They may freeze.
	toServer, toClient func(data []byte)

	mu     sync.Mutex // guards what follows
	frozen bool
	conns  []net.Conn
}

func newProxy(t testing.TB, cfg *pgxpool.Config) *proxy {
	t.Helper()
	p := &proxy{}
	cfg.ConnConfig.DialFunc = p.dial
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, conn := range p.conns {
			_ = conn.Close()
		}
	})
	return p
}

// newSniffer is a proxy that can read what passes.
func newSniffer(t testing.TB, cfg *pgxpool.Config) *proxy {
	t.Helper()
	cfg.ConnConfig.TLSConfig, cfg.ConnConfig.Fallbacks = nil, nil
	conn, err := pgx.ConnectConfig(t.Context(), cfg.ConnConfig)
	if err != nil {
		t.Skipf("the server takes no connection that is not encrypted: %v", err)
	}
	require.NoError(t, conn.Close(t.Context()))
	return newProxy(t, cfg)
}

func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

func (p *proxy) isFrozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen
}

func (p *proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	server, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	client, inside := net.Pipe()
	p.mu.Lock()
	p.conns = append(p.conns, server, inside)
	p.mu.Unlock()
	go p.pass(server, inside, p.toServer)
	go p.pass(inside, server, p.toClient)
	return client, nil
}

func (p *proxy) pass(to, from net.Conn, see func(data []byte)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if see != nil && n > 0 && !p.isFrozen() {
			see(buf[:n])
		}
		if p.isFrozen() {
			if err != nil {
				return // nobody is told
			}
			continue
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}
