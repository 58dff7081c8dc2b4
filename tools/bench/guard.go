package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// guardScript runs a server until its standard input ends, which it does with
// this process, however that ends. Then it removes the directory.
const guardScript = `dir=$1
shift
"$@" >"$dir/log" 2>&1 </dev/null 3<&- &
server=$!
{ cat <&3; kill -9 "$server"; } >/dev/null 2>&1 &
guard=$!
wait "$server"
kill "$guard" 2>/dev/null
tail -n 5 "$dir/log"
rm -rf "$dir"`

// guarded is a running server.
type guarded struct {
	ended chan struct{}
	said  string // the end of its log; valid once ended
	stop  func()
}

// guard starts a server that works in dir, a directory of its own.
func guard(dir, program string, args ...string) (*guarded, error) {
	aliveIn, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer aliveIn.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", guardScript, "guard", dir, program}, args...)...)
	cmd.Dir = dir
	cmd.ExtraFiles = []*os.File{aliveIn}
	var said strings.Builder
	cmd.Stdout = &said
	setSession(cmd)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, alive.Close())
	}
	g := &guarded{ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		g.said = said.String()
		close(g.ended)
	}()
	g.stop = sync.OnceFunc(func() {
		_ = alive.Close()
		<-g.ended
	})
	return g, nil
}

// await returns when ready does not fail any more.
func (g *guarded) await(ctx context.Context, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-g.ended:
			return errors.New(g.said)
		case <-ctx.Done():
			g.stop()
			return fmt.Errorf("it does not start: %w\n%s", err, g.said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// freeAddress is one on which nobody listens at the moment.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func listens(network, address string) error {
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}
