package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// The environment variables that pgtest reads.
const (
	EnvURL     = "RELAY_TEST_DATABASE_URL"   // a server to use
	EnvImage   = "RELAY_TEST_POSTGRES_IMAGE" // the image of the container way
	EnvWay     = "RELAY_TEST_POSTGRES"       // the only way to try
	EnvRequire = "RELAY_REQUIRE_POSTGRES"    // 1: no server is a failure

	// EnvRequirePrograms, 1: a test that needs a Cluster fails where it cannot
	// have one.
	EnvRequirePrograms = "RELAY_REQUIRE_SERVER_PROGRAMS"
)

const (
	// defaultLimit is how long a container lives whose owner has no deadline.
	defaultLimit = 2 * time.Hour

	// urlTimeout bounds the wait for a server that the user names.
	urlTimeout = 15 * time.Second
)

// Server is a running PostgreSQL.
type Server struct {
	URL string // of a database that the role may create others from
	Way string // "url", "container" or "installed"
	Why string // one line: what it is, and why the ways before were not used

	stop func() error
}

// Close stops the server, unless it is one that the user named, and waits
// until nothing of it is left.
func (s *Server) Close() error {
	if s.stop == nil {
		return nil
	}
	return s.stop()
}

// NoServerError says that no way led to a server.
type NoServerError struct {
	Reasons []string // one for each way that was tried, in order
}

func (e *NoServerError) Error() string {
	return "pgtest: no PostgreSQL for this test:\n  " + strings.Join(e.Reasons, "\n  ") + "\n" +
		"Any of these helps: name a server with " + EnvURL + "; run a Docker engine that has or can pull the image (" +
		EnvImage + ", default " + defaultImage + "); install the PostgreSQL server programs."
}

type way struct {
	name  string
	start func(ctx context.Context, opts options) (*Server, error)
}

type options struct {
	forced bool          // no other way comes after this one
	limit  time.Duration // the longest that a container may live
}

// In the order in which they are tried.
var ways = []way{
	{"url", startURL},
	{"container", startContainer},
	{"installed", startInstalled},
}

// Config is for Start. The zero value does what the environment says.
type Config struct {
	Way   string        // the only way to try; RELAY_TEST_POSTGRES by default
	Limit time.Duration // the longest life of a container; two hours by default
}

// Start gives a server by the first way that works. Without one the error is a
// *NoServerError.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	candidates, err := candidateWays(cmp.Or(cfg.Way, os.Getenv(EnvWay)))
	if err != nil {
		return nil, err
	}
	opts := options{forced: len(candidates) == 1, limit: cmp.Or(cfg.Limit, defaultLimit)}
	var reasons []string
	for _, w := range candidates {
		srv, err := w.start(ctx, opts)
		if err == nil {
			srv.Way = w.name
			srv.Why = strings.Join(append([]string{"using " + w.name + ": " + srv.Why}, reasons...), "; not ")
			return srv, nil
		}
		reasons = append(reasons, w.name+": "+err.Error())
	}
	return nil, &NoServerError{Reasons: reasons}
}

func candidateWays(forced string) ([]way, error) {
	if forced == "" {
		return ways, nil
	}
	for _, w := range ways {
		if w.name == forced {
			return []way{w}, nil
		}
	}
	return nil, fmt.Errorf("pgtest: %s=%q is none of url, container, installed", EnvWay, forced)
}

func startURL(ctx context.Context, _ options) (*Server, error) {
	dsn := os.Getenv(EnvURL)
	if dsn == "" {
		return nil, errors.New(EnvURL + " is not set")
	}
	ctx, cancel := context.WithTimeout(ctx, urlTimeout)
	defer cancel()
	conn, err := connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("the server of %s: %w", EnvURL, err)
	}
	return &Server{URL: dsn, Why: "the server of " + EnvURL}, conn.Close(ctx)
}

var process struct {
	once sync.Once
	srv  *Server
	err  error
}

// shared returns the server of this process, started by the first test.
func shared(t testing.TB) (*Server, error) {
	process.once.Do(func() {
		process.err = errors.New("pgtest: starting PostgreSQL did not finish")
		// Not the test's context: the server outlives the test.
		process.srv, process.err = Start(context.Background(), Config{Limit: untilDeadline(t)})
	})
	return process.srv, process.err
}

// untilDeadline is how long this test binary may still run, and a little more.
func untilDeadline(t testing.TB) time.Duration {
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := d.Deadline(); ok {
			return time.Until(deadline) + time.Minute
		}
	}
	return 0
}
