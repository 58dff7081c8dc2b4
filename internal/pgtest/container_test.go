//go:build unix

package pgtest_test

import (
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/relay-samples/relay-go/internal/pgtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	forceContainer = pgtest.EnvWay + "=container"
	endsLabel      = "relay-go.pgtest.ends"
)

// needContainer returns a client of the engine and the image, or skips a test
// about the container way where it cannot work.
func needContainer(t *testing.T) (*client.Client, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("containers take seconds")
	}
	image := os.Getenv(pgtest.EnvImage)
	if image == "" {
		image = "postgres:17-alpine"
	}
	docker, err := client.New(client.FromEnv)
	require.NoError(t, err)
	t.Cleanup(func() { _ = docker.Close() })
	if _, err := docker.ImageInspect(t.Context(), image); err != nil {
		message := "no Docker engine that has the image " + image + ": " + err.Error()
		require.NotEqual(t, "container", os.Getenv(pgtest.EnvWay), message)
		t.Skip(message)
	}
	return docker, image
}

// containerOf returns the id of the container that serves dsn.
func containerOf(t *testing.T, docker *client.Client, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	list, err := docker.ContainerList(t.Context(), client.ContainerListOptions{
		Filters: make(client.Filters).Add("label", endsLabel),
	})
	require.NoError(t, err)
	for _, c := range list.Items {
		for _, p := range c.Ports {
			if int(p.PublicPort) == port {
				return c.ID
			}
		}
	}
	require.FailNow(t, "no container serves port "+u.Port())
	return ""
}

// requireRemoved awaits that the engine has removed a container.
func requireRemoved(t *testing.T, docker *client.Client, id string) {
	t.Helper()
	removed := docker.ContainerWait(t.Context(), id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	select {
	case <-removed.Result:
	case err := <-removed.Error:
		require.True(t, errdefs.IsNotFound(err), "%v", err)
	case <-time.After(2 * time.Minute):
		require.FailNow(t, "the container was left behind")
	}
}

func TestContainer_NothingIsLeftAfterKill9(t *testing.T) {
	t.Parallel()
	docker, _ := needContainer(t)
	process := start(t, child(t, "wait", forceContainer))
	dsn := process.line(t, "dsn: ")
	require.Contains(t, process.before, "using container: image ")
	id := containerOf(t, docker, dsn)
	session := open(t, dsn)
	require.Equal(t, "200", ask[string](t, session, "show max_connections"))

	require.NoError(t, process.cmd.Process.Kill())
	requireRemoved(t, docker, id)
}

func TestContainer_EndsWithItsOwnLimit(t *testing.T) {
	t.Parallel()
	docker, _ := needContainer(t)
	limit := 10 * time.Second
	srv, err := pgtest.Start(t.Context(), pgtest.Config{Way: "container", Limit: limit})
	for err != nil && limit < 2*time.Minute { // on a busy machine it ended before it was up
		limit *= 2
		srv, err = pgtest.Start(t.Context(), pgtest.Config{Way: "container", Limit: limit})
	}
	require.NoError(t, err)
	requireRemoved(t, docker, containerOf(t, docker, srv.URL))
	require.NoError(t, srv.Close(), "it is gone already, which is no error")
}

func TestContainer_CloseReturnsWhenItIsRemoved(t *testing.T) {
	t.Parallel()
	docker, _ := needContainer(t)
	srv, err := pgtest.Start(t.Context(), pgtest.Config{Way: "container"})
	require.NoError(t, err)
	id := containerOf(t, docker, srv.URL)

	require.NoError(t, srv.Close())
	_, err = docker.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
	require.True(t, errdefs.IsNotFound(err), "%v", err)
}

func TestContainer_SweepsLeftoversAndNothingElse(t *testing.T) {
	t.Parallel()
	docker, image := needContainer(t)
	leftover := func(ends time.Time) string {
		created, err := docker.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Config: &container.Config{Image: image, Labels: map[string]string{endsLabel: strconv.FormatInt(ends.Unix(), 10)}},
		})
		require.NoError(t, err)
		return created.ID
	}
	exists := func(id string) bool {
		_, err := docker.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
		require.True(t, err == nil || errdefs.IsNotFound(err), "%v", err)
		return err == nil
	}
	over, living := leftover(time.Now().Add(-time.Hour)), leftover(time.Now().Add(time.Hour))
	defer func() {
		_, err := docker.ContainerRemove(t.Context(), living, client.ContainerRemoveOptions{Force: true})
		require.NoError(t, err)
	}()

	srv, err := pgtest.Start(t.Context(), pgtest.Config{Way: "container"})
	require.NoError(t, err)
	require.NoError(t, srv.Close())
	require.False(t, exists(over), "a container whose limit is over is swept")
	require.True(t, exists(living), "a container of a test that runs now is not")
}

func TestContainer_SweepsWhatNeverStarted(t *testing.T) {
	t.Parallel()
	summary := func(id string, state container.ContainerState, age time.Duration) container.Summary {
		now := time.Now()
		ends := strconv.FormatInt(now.Add(time.Hour).Unix(), 10)
		return container.Summary{
			ID: id, State: state, Created: now.Add(-age).Unix(), Labels: map[string]string{endsLabel: ends},
		}
	}
	engine := fakeEngine(t, http.NotFound,
		summary("never-started", container.StateCreated, 11*time.Minute),
		summary("starting", container.StateCreated, 5*time.Minute),
		summary("running", container.StateRunning, 11*time.Minute))
	said, err := output(t, child(t, "end", engine.host, forceContainer))
	require.NoError(t, err, said)
	require.Len(t, engine.removed, 1)
	require.Equal(t, "never-started", <-engine.removed)
}

func TestContainer_NothingRunsWhenKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	docker, _ := needContainer(t)
	// The time limit tells our containers from others.
	timeout := time.Duration(1000+rand.N(100000)) * time.Hour
	first := time.Now().Add(timeout)

	const rounds = 8 // at once
	var done sync.WaitGroup
	for i := range rounds {
		cmd := child(t, "stay", forceContainer)
		cmd.Args = append(cmd.Args, "-test.timeout="+timeout.String())
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		defer stdin.Close()
		require.NoError(t, cmd.Start())
		moment := time.Duration(i)*500*time.Millisecond + rand.N(500*time.Millisecond)
		done.Go(func() {
			time.Sleep(moment)
			assert.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
		})
	}
	done.Wait()

	ours := func() (left []container.Summary) {
		list, err := docker.ContainerList(t.Context(), client.ContainerListOptions{
			All: true, Filters: make(client.Filters).Add("label", endsLabel),
		})
		require.NoError(t, err)
		for _, c := range list.Items {
			ends, err := strconv.ParseInt(c.Labels[endsLabel], 10, 64)
			require.NoError(t, err)
			if after := time.Unix(ends, 0).Sub(first); after >= 0 && after < 10*time.Minute {
				left = append(left, c)
			}
		}
		return left
	}
	// The engine may still be busy with what it was told, so look for some time.
	quiet := 0
	for began := time.Now(); quiet < 30; time.Sleep(100 * time.Millisecond) {
		quiet++
		for _, c := range ours() {
			if c.State != container.StateCreated { // those are for the sweep
				quiet = 0
			}
		}
		require.Less(t, time.Since(began), 2*time.Minute, "a container was left behind")
	}
	for _, c := range ours() {
		_, err := docker.ContainerRemove(t.Context(), c.ID, client.ContainerRemoveOptions{Force: true})
		require.True(t, err == nil || errdefs.IsNotFound(err), "%v", err)
	}
}

func TestContainer_SaysWhyTheServerEnded(t *testing.T) {
	t.Parallel()
	_, image := needContainer(t)
	docker, err := client.New(client.FromEnv)
	require.NoError(t, err)
	defer docker.Close()
	created, err := docker.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config: &container.Config{
			Image: image, Entrypoint: []string{"sh", "-c", "echo no memory is left >&2; exit 1"},
		},
	})
	require.NoError(t, err)
	defer docker.ContainerRemove(t.Context(), created.ID, client.ContainerRemoveOptions{Force: true})
	const broken = "relay-pgtest-broken:latest"
	_, err = docker.ContainerCommit(t.Context(), created.ID, client.ContainerCommitOptions{Reference: broken})
	require.NoError(t, err)
	defer docker.ImageRemove(t.Context(), broken, client.ImageRemoveOptions{Force: true})

	said, err := output(t, child(t, "end", forceContainer, pgtest.EnvImage+"="+broken))
	require.NoError(t, err, said)
	require.Contains(t, said, "--- SKIP: TestChild")
	require.Contains(t, said, "no memory is left")
}

// fake is a Docker engine that has no image.
type fake struct {
	host    string // as an environment variable
	pulls   atomic.Int32
	removed chan string // the paths of containers that it was told to remove
}

// fakeEngine starts one; pull decides what a pull does, containers is what it
// has in its list.
func fakeEngine(t *testing.T, pull http.HandlerFunc, containers ...container.Summary) *fake {
	t.Helper()
	socket := filepath.Join(openDir(t), "engine.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	list, err := json.Marshal(append([]container.Summary{}, containers...))
	require.NoError(t, err)
	f := &fake{host: "DOCKER_HOST=unix://" + socket, removed: make(chan string, len(containers))}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/_ping"):
		case strings.HasSuffix(path, "/info"):
			_, _ = w.Write([]byte(`{"ServerVersion": "1", "OperatingSystem": "fake"}`))
		case strings.HasSuffix(path, "/containers/json"):
			_, _ = w.Write(list)
		case r.Method == http.MethodDelete:
			f.removed <- filepath.Base(path)
		case strings.HasSuffix(path, "/images/create"):
			f.pulls.Add(1)
			pull(w, r)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"message": "no such thing"}`))
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return f
}

func TestContainer_AnEngineThatCannotPullCostsSeconds(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	patience := make(chan time.Duration, 1) // measured here: a busy machine slows the rest down
	engine := fakeEngine(t, func(_ http.ResponseWriter, r *http.Request) {
		began := time.Now()
		<-r.Context().Done()
		patience <- time.Since(began)
	})
	said, err := output(t, child(t, "end", engine.host))
	require.NoError(t, err, said)
	require.Contains(t, said, "using installed: ")
	require.Contains(t, said, "cannot be pulled: the registry does not answer")
	require.Less(t, <-patience, 20*time.Second, "it is 4 s, and 30 s where the way is forced")
	require.EqualValues(t, 1, engine.pulls.Load())
}

func TestContainer_AnEngineThatHangsDoesNotHoldTheTestUp(t *testing.T) {
	t.Parallel()
	needInstalled(t)
	socket := filepath.Join(openDir(t), "engine.sock")
	listener, err := net.Listen("unix", socket) // nobody accepts
	require.NoError(t, err)
	defer listener.Close()
	said, err := output(t, child(t, "end", "DOCKER_HOST=unix://"+socket))
	require.NoError(t, err, said) // it would have been ended after five minutes
	require.Contains(t, said, "using installed: ")
	require.Contains(t, said, "not container: no Docker engine answers")
}

func TestContainer_SaysWhyThePullFailed(t *testing.T) {
	t.Parallel()
	engine := fakeEngine(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status": "Pulling"}` + "\n" + `{"errorDetail": {"message": "the quota is used up"}, "error": "x"}` + "\n"))
	})
	said, err := output(t, child(t, "end", engine.host, forceContainer))
	require.NoError(t, err, said)
	require.Contains(t, said, "--- SKIP: TestChild")
	require.Contains(t, said, "the quota is used up")
}

func TestStart_AFailureIsRemembered(t *testing.T) {
	t.Parallel()
	engine := fakeEngine(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	})
	cmd := child(t, "end", engine.host, forceContainer)
	cmd.Args = append(cmd.Args, "-test.count=2")
	said, err := output(t, cmd)
	require.NoError(t, err, said)
	require.Equal(t, 2, strings.Count(said, "--- SKIP: TestChild"), said)
	require.EqualValues(t, 1, engine.pulls.Load(), "the second test does not try again")
}

func TestContainer_AnEngineThatIsNamedAndNotThereIsNotReplacedByAnother(t *testing.T) {
	t.Parallel()
	said, _ := output(t, child(t, "end", pgtest.EnvWay+"=container", "DOCKER_HOST=unix:///nonexistent.sock"))
	require.Contains(t, said, "no Docker engine answers at DOCKER_HOST=unix:///nonexistent.sock")
}
