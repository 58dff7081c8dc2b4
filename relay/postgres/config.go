package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay"
)

const (
	defaultRequestTimeout  = 5 * time.Second
	maxRequestTimeout      = time.Hour
	minOpenTimeout         = 5 * time.Second
	defaultApplicationName = "relay"
)

// source opens connections. Of the pool's config it keeps what says how to
// reach the server, and no size, lifetime or hook of a pool.
type source struct {
	config        *pgx.ConnConfig
	beforeConnect func(context.Context, *pgx.ConnConfig) error
	timeout       time.Duration // bounds one connection, from the dial until it is ready
}

// newSource copies what it needs from cfg, so that later changes of it do not
// arrive here. appName may be empty.
func newSource(cfg *pgxpool.Config, appName string, requestTimeout time.Duration) (*source, error) {
	if err := checkConfig(cfg); err != nil {
		return nil, err
	}
	if strings.IndexByte(appName, 0) >= 0 {
		return nil, fmt.Errorf("relay/postgres: ApplicationName %q contains NUL", appName)
	}
	config := cfg.ConnConfig.Copy()
	if config.RuntimeParams == nil {
		config.RuntimeParams = make(map[string]string)
	}
	const param = "application_name"
	config.RuntimeParams[param] = cmp.Or(appName, config.RuntimeParams[param], defaultApplicationName)
	return &source{
		config:        config,
		beforeConnect: cfg.BeforeConnect,
		timeout:       max(requestTimeout, minOpenTimeout),
	}, nil
}

// callbackPanic carries a panic of the user's, in BeforeConnect say, from the
// goroutine that opens a session for everybody to those who wait for it.
type callbackPanic struct{ value any }

func (p *callbackPanic) Error() string { return fmt.Sprintf("a callback panicked: %v", p.value) }

// panicOn goes on with a panic of the user's, where the call was made.
func panicOn(err error) {
	var p *callbackPanic
	if errors.As(err, &p) {
		panic(p.value)
	}
}

// connect opens a connection, bounded by ctx. A panic of the user's becomes an
// error on the way: see panicOn.
func (s *source) connect(ctx context.Context) (conn *pgconn.PgConn, err error) {
	defer func() {
		if v := recover(); v != nil {
			conn, err = nil, &callbackPanic{v}
		}
	}()
	config := s.config.Copy()
	if s.beforeConnect != nil {
		if err := s.beforeConnect(ctx, config); err != nil {
			return nil, fmt.Errorf("BeforeConnect: %w", err)
		}
		if err := checkConnConfig(config); err != nil {
			return nil, fmt.Errorf("BeforeConnect: %w", err)
		}
	}
	if config.RuntimeParams == nil {
		config.RuntimeParams = make(map[string]string)
	}
	// Names travel as UTF-8, whatever the role or the database sets: in another
	// encoding one role would be two, and a lease's owner not its own.
	config.RuntimeParams["client_encoding"] = "UTF8"
	shareTimeout(&config.Config, s.timeout)
	return pgconn.ConnectConfig(ctx, &config.Config)
}

// shareTimeout gives each address an equal part of the time, or less where the
// user says so: a first host that takes connections and never answers would
// else leave nothing for those after it. How many addresses a host has is known
// once pgconn has looked it up, which it does for all of them before it dials.
func shareTimeout(config *pgconn.Config, timeout time.Duration) {
	addresses := 1
	host, port := config.Host, config.Port
	for _, f := range config.Fallbacks {
		if f.Host != host || f.Port != port { // else without TLS, in the same time
			addresses++
		}
		host, port = f.Host, f.Port
	}
	users := config.ConnectTimeout
	share := func() {
		config.ConnectTimeout = timeout / time.Duration(addresses)
		if users > 0 {
			config.ConnectTimeout = min(config.ConnectTimeout, users)
		}
	}
	share()
	if lookup := config.LookupFunc; lookup != nil {
		config.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
			found, err := lookup(ctx, host)
			addresses += max(len(found)-1, 0)
			share()
			return found, err
		}
	}
}

const parseAdvice = "make it with pgxpool.ParseConfig"

// checkConfig refuses a config that pgx would panic on. pgx keeps to itself
// which ones those are, so it is asked: with a pool of no connections, which is
// refused right after the check.
func checkConfig(cfg *pgxpool.Config) (err error) {
	if cfg == nil || cfg.ConnConfig == nil {
		return errors.New("relay/postgres: the config is nil: " + parseAdvice)
	}
	defer asError(&err)
	pool := *cfg
	pool.MaxConns = 0
	pool.ConnConfig = cfg.ConnConfig.Copy()
	pool.ConnConfig.Tracer = nil
	if p, err := pgxpool.NewWithConfig(context.Background(), &pool); err == nil {
		p.Close()
	}
	return checkConnConfig(cfg.ConnConfig)
}

// checkConnConfig asks with a connection that can't dial. Nothing of the user's
// is called, so a panic is pgx's.
func checkConnConfig(config *pgx.ConnConfig) (err error) {
	defer asError(&err)
	config = config.Copy()
	config.Tracer = nil
	offline := errors.New("offline")
	config.LookupFunc = func(context.Context, string) ([]string, error) { return nil, offline }
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, offline }
	_, _ = pgx.ConnectConfig(context.Background(), config)
	return nil
}

func asError(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("relay/postgres: %v: %s", v, parseAdvice)
	}
}

// checkRequestTimeout is for a timeout that has its default already.
func checkRequestTimeout(d time.Duration) error {
	switch {
	case d < 0:
		return fmt.Errorf("relay/postgres: RequestTimeout %v is negative", d)
	case d > maxRequestTimeout:
		return fmt.Errorf("relay/postgres: RequestTimeout %v > %v", d, maxRequestTimeout)
	}
	return nil
}

// lifetime is how long an adapter is open.
type lifetime struct {
	ctx context.Context // ends with Close
	end context.CancelFunc
}

func newLifetime() lifetime {
	ctx, end := context.WithCancel(context.Background())
	return lifetime{ctx: ctx, end: end}
}

// ended is relay.ErrClosed after Close, at once: a bounded context may follow a
// moment later.
func (l lifetime) ended() error {
	if l.ctx.Err() != nil {
		return relay.ErrClosed
	}
	return nil
}

// bound returns ctx, cut short with cause relay.ErrClosed by Close.
func (l lifetime) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if l.ctx.Err() != nil { // AfterFunc would say so a moment later
		cancel(relay.ErrClosed)
	}
	stop := context.AfterFunc(l.ctx, func() { cancel(relay.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

// endOf says why a bounded context has ended: relay.ErrClosed or the error of
// the caller's. nil when it has not.
func endOf(bounded context.Context) error {
	if bounded.Err() != nil && errors.Is(context.Cause(bounded), relay.ErrClosed) {
		return relay.ErrClosed
	}
	return endOfCaller(bounded)
}

// endOfCaller says why a caller's own context has ended; nil when it has not.
func endOfCaller(ctx context.Context) error {
	err := ctx.Err()
	if deadline, ok := ctx.Deadline(); err == nil && ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded // sockets keep the deadline too, and may be the first to notice
	}
	return err
}
