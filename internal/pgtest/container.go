package pgtest

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/moby/moby/api/types/container"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	defaultImage = "postgres:17-alpine"

	// containerTimeout bounds creating and starting it on a busy machine; the
	// image is there.
	containerTimeout = 2 * time.Minute

	serverPort = "5432/tcp"
)

//go:embed container.sh
var containerScript string

func startContainer(ctx context.Context, opts options) (srv *Server, err error) {
	defer func() {
		if r := recover(); r != nil { // Testcontainers panics when the engine goes away
			srv, err = nil, fmt.Errorf("%v", r)
		}
	}()
	log.SetDefault(log.NewNoopLogger())
	image := cmp.Or(os.Getenv(EnvImage), defaultImage)

	e, err := findEngine(ctx, opts.forced)
	if err != nil {
		return nil, err
	}
	defer e.client.Close() // its idle connections
	e.sweep(ctx)
	command, err := e.commandOf(ctx, image, opts.forced)
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	line := &lifeline{engine: e}
	ready := &answers{user: "postgres", password: rand.Text()}
	request := containerRequest(image, command, opts.limit, ready)
	request.LifecycleHooks = []testcontainers.ContainerLifecycleHooks{{
		PostCreates: []testcontainers.ContainerHook{line.attach},
	}}
	_, err = testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: request, Started: true, Logger: log.NewNoopLogger(),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("image %s: %w", image, err), line.close(), line.said())
	}
	line.stopListening()
	return &Server{URL: ready.dsn, Why: "image " + image, stop: line.close}, nil
}

func containerRequest(image string, command []string, limit time.Duration, ready *answers) testcontainers.ContainerRequest {
	seconds := strconv.Itoa(int(limit / time.Second))
	return testcontainers.ContainerRequest{
		Image:        image,
		Entrypoint:   []string{"sh", "-c", containerScript, "pgtest", seconds},
		Cmd:          append(slices.Clone(command), "-c", "max_connections=200"),
		ExposedPorts: []string{serverPort},
		Labels:       map[string]string{endsLabel: strconv.FormatInt(time.Now().Add(limit).Unix(), 10)},
		Env: map[string]string{
			"POSTGRES_USER": ready.user, "POSTGRES_PASSWORD": ready.password,
			"POSTGRES_INITDB_ARGS": "--encoding=UTF8 --locale=C --no-sync",
		},
		WaitingFor: ready,
		ConfigModifier: func(c *container.Config) {
			c.OpenStdin, c.StdinOnce, c.AttachStdin = true, true, true
		},
		HostConfigModifier: func(hc *container.HostConfig) { hc.AutoRemove = true },
	}
}

// answers waits until the server takes a connection at one of the addresses it
// may have, and keeps that one's dsn. The strategies that come with
// Testcontainers look for programs in the image, and wait out a minute when
// these are missing.
type answers struct {
	user, password string
	dsn            string
}

var _ wait.Strategy = (*answers)(nil)

func (a *answers) WaitUntilReady(ctx context.Context, target wait.StrategyTarget) error {
	port, err := target.MappedPort(ctx, serverPort)
	if err != nil {
		return err
	}
	host, err := target.Host(ctx)
	if err != nil {
		return err
	}
	// Inside a container Testcontainers takes the engine to be at the default
	// gateway. With an engine in the same container it is not.
	hosts := slices.Compact([]string{host, "127.0.0.1"})
	for {
		for _, host := range hosts {
			dsn := a.dsnAt(net.JoinHostPort(host, port.Port()))
			if err = tryConnect(ctx, dsn); err == nil {
				a.dsn = dsn
				return nil
			}
		}
		if state, stateErr := target.State(ctx); stateErr != nil || !state.Running {
			return errors.Join(errors.New("the container ended"), stateErr)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(25 * time.Millisecond):
		}
	}
}

func (a *answers) dsnAt(address string) string {
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(a.user, a.password),
		Host:     address,
		Path:     "/postgres",
		RawQuery: url.Values{"sslmode": {"disable"}}.Encode(),
	}).String()
}

// tryConnect gives up on an address where nobody answers, so that the next one
// gets its turn.
func tryConnect(ctx context.Context, dsn string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
