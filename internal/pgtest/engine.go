package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

const (
	// These bound finding out whether an engine answers. A person who forces this
	// way gets more patience, here and below.
	engineTimeout       = 3 * time.Second
	engineTimeoutForced = 30 * time.Second

	// A pull is given up when the registry has not answered after firstAnswer,
	// or later says nothing for pullSilence.
	firstAnswer       = 4 * time.Second
	firstAnswerForced = 30 * time.Second
	pullSilence       = 15 * time.Second
	pullTimeout       = 5 * time.Minute

	// neverStarted is the age at which a container that did not start has lost
	// the process that made it, also when the engine's clock is not quite ours.
	neverStarted = 10 * time.Minute

	// endsLabel marks our containers. Its value is the Unix time at which the
	// container's own limit has ended it.
	endsLabel = "relay-go.pgtest.ends"

	// reaperOff is Testcontainers' switch for its reaper.
	reaperOff = "TESTCONTAINERS_RYUK_DISABLED"
)

// engine is a Docker engine that answers.
type engine struct{ client *client.Client }

// findEngine looks where Testcontainers looks, but for a bounded time.
func findEngine(ctx context.Context, forced bool) (*engine, error) {
	patience := engineTimeout
	if forced {
		patience = engineTimeoutForced
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Before anything else of Testcontainers, which reads its settings once.
	if os.Getenv(reaperOff) == "" && !reaperPresent(ctx) {
		if err := os.Setenv(reaperOff, "true"); err != nil {
			return nil, err
		}
	}
	if host := os.Getenv("DOCKER_HOST"); host != "" && !environmentAnswers(ctx) {
		// Testcontainers would go on to the next engine that it can find.
		return nil, fmt.Errorf("no Docker engine answers at DOCKER_HOST=%s", host)
	}
	c, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err == nil {
		_, err = c.Ping(ctx, client.PingOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("no Docker engine answers: %w", err)
	}
	return &engine{client: c.Client}, nil
}

// environmentAnswers tells whether the engine that the environment names is there.
func environmentAnswers(ctx context.Context) bool {
	c, err := client.New(client.FromEnv)
	if err != nil {
		return false
	}
	defer c.Close()
	_, err = c.Ping(ctx, client.PingOptions{})
	return err == nil
}

// reaperPresent tells whether Testcontainers can use its reaper; without the
// image it would try to pull it. Our containers end without it too.
func reaperPresent(ctx context.Context) bool {
	c, err := client.New(client.FromEnv)
	if err != nil {
		return false
	}
	defer c.Close()
	//lint:ignore SA1019 nothing else names the version that Testcontainers wants
	_, err = c.ImageInspect(ctx, testcontainers.ReaperDefaultImage)
	return err == nil
}

// commandOf returns what the image runs, after pulling the image if need be.
func (e *engine) commandOf(ctx context.Context, image string, forced bool) ([]string, error) {
	info, err := e.client.ImageInspect(ctx, image)
	if errdefs.IsNotFound(err) {
		patience := firstAnswer
		if forced {
			patience = firstAnswerForced
		}
		if err := e.pull(ctx, image, patience); err != nil {
			return nil, fmt.Errorf("image %s is not there and cannot be pulled: %w", image, err)
		}
		info, err = e.client.ImageInspect(ctx, image)
	}
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", image, err)
	}
	if info.Config == nil || len(info.Config.Entrypoint)+len(info.Config.Cmd) == 0 {
		return nil, fmt.Errorf("image %s has no command", image)
	}
	return slices.Concat(info.Config.Entrypoint, info.Config.Cmd), nil
}

func (e *engine) pull(ctx context.Context, image string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	silence := time.AfterFunc(patience, func() { giveUp(errors.New("the registry does not answer")) })
	defer silence.Stop()

	err := func() error {
		progress, err := e.client.ImagePull(ctx, image, client.ImagePullOptions{})
		if err != nil {
			return err
		}
		defer progress.Close()
		for message, err := range progress.JSONMessages(ctx) {
			if err != nil {
				return err
			}
			if message.Error != nil {
				return message.Error
			}
			silence.Reset(pullSilence)
		}
		return nil
	}()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// sweep removes containers of earlier runs that outlived their own limit, for
// example because the engine was restarted, and those that never started,
// because their process was killed before. It leaves the containers of tests
// that run now alone.
func (e *engine) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	list, err := e.client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", endsLabel),
	})
	if err != nil {
		return // the next run sweeps
	}
	for _, c := range list.Items {
		ends, err := strconv.ParseInt(c.Labels[endsLabel], 10, 64)
		over := err == nil && time.Since(time.Unix(ends, 0)) > time.Minute
		if over || c.State == container.StateCreated && time.Since(time.Unix(c.Created, 0)) > neverStarted {
			_, _ = e.client.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		}
	}
}
