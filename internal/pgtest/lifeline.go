package pgtest

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// lifeline holds a container's standard input open. The engine closes it with
// the connection, so that the container ends with this process.
type lifeline struct {
	engine *engine
	id     string
	stdin  *client.HijackedResponse

	// What the container says while it starts. Its log goes with it.
	stdout *client.HijackedResponse
	output bytes.Buffer
	copied chan struct{} // closed after the last write to output
}

// attach runs before the container starts: there is no moment in which it runs
// on its own.
func (l *lifeline) attach(ctx context.Context, c testcontainers.Container) error {
	l.id = c.GetContainerID()
	in, err := l.engine.client.ContainerAttach(ctx, l.id, client.ContainerAttachOptions{Stream: true, Stdin: true})
	if err != nil {
		return err
	}
	l.stdin = &in.HijackedResponse
	out, err := l.engine.client.ContainerAttach(ctx, l.id, client.ContainerAttachOptions{
		Stream: true, Stdout: true, Stderr: true,
	})
	if err != nil {
		return err
	}
	l.stdout = &out.HijackedResponse
	l.copied = make(chan struct{})
	go func() {
		defer close(l.copied)
		_, _ = stdcopy.StdCopy(&l.output, &l.output, out.Reader)
	}()
	return nil
}

func (l *lifeline) stopListening() {
	if l.stdout != nil {
		l.stdout.Close()
		<-l.copied
	}
}

// said returns the end of what the container has said, as an error.
func (l *lifeline) said() error {
	l.stopListening()
	lines := strings.Split(strings.TrimSpace(l.output.String()), "\n")
	return errors.New(strings.Join(lines[max(0, len(lines)-20):], "\n"))
}

// close ends the container and returns when the engine has removed it.
func (l *lifeline) close() error {
	if l.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), containerTimeout)
	defer cancel()
	defer l.engine.client.Close()
	removed := l.engine.client.ContainerWait(ctx, l.id, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	if l.stdin != nil {
		l.stdin.Close()
	}
	// It may never have started; otherwise the engine is removing it already.
	_, _ = l.engine.client.ContainerRemove(ctx, l.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	select {
	case err := <-removed.Error:
		if errdefs.IsNotFound(err) {
			return nil
		}
		return err
	case <-removed.Result:
		return nil
	}
}
