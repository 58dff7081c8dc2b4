//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// stopping bounds how long a process may take to give up what it holds.
const stopping = 30 * time.Second

// crew are the processes that contend. Its methods are for one goroutine.
type crew struct {
	settings settings
	schema   string
	working  []*worker
	started  int
	said     [][]record // by those that have ended
}

// worker is a running child.
type worker struct {
	name    string
	cmd     *exec.Cmd
	stdin   io.Closer
	records []record      // the reader's until done is closed
	done    chan struct{} // closed when it has said its last
}

func startCrew(s settings, schema string) (*crew, error) {
	c := &crew{settings: s, schema: schema}
	for range s.processes {
		w, err := c.start()
		if err != nil {
			c.stop()
			return nil, err
		}
		c.working = append(c.working, w)
	}
	return c, nil
}

func (c *crew) start() (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c.started++
	name := fmt.Sprint("process-", c.started)
	cfg, err := json.Marshal(childConfig{URL: c.settings.url, Schema: c.schema, Name: name, Roles: c.settings.roles})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(cfg))
	cmd.Stderr = os.Stderr
	// A group of its own: Ctrl-C is for the parent. When that is killed the group
	// is an orphan, and the system wakes and ends what is frozen in it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &worker{name: name, cmd: cmd, stdin: stdin, done: make(chan struct{})}
	go w.read(stdout)
	return w, nil
}

func (w *worker) read(stdout io.Reader) {
	defer close(w.done)
	for lines := json.NewDecoder(stdout); ; {
		var r record
		if lines.Decode(&r) != nil {
			return
		}
		w.records = append(w.records, r)
	}
}

func (w *worker) signal(s syscall.Signal) { _ = w.cmd.Process.Signal(s) }

// replace kills a process and starts another one.
func (c *crew) replace(i int) error {
	c.working[i].signal(syscall.SIGKILL)
	_ = c.end(c.working[i])
	w, err := c.start()
	if err == nil {
		c.working[i] = w
	} else {
		c.working = slices.Delete(c.working, i, i+1)
	}
	return err
}

// end waits for a process and keeps what it said.
func (c *crew) end(w *worker) error {
	<-w.done
	c.said = append(c.said, w.records)
	_ = w.stdin.Close()
	return w.cmd.Wait()
}

// stop ends all processes in good order. It returns what was said, and which of
// them did not come to an end.
func (c *crew) stop() (said [][]record, bad []string) {
	for _, w := range c.working {
		w.signal(syscall.SIGCONT)
		_ = w.stdin.Close()
	}
	for _, w := range c.working {
		impatient := time.AfterFunc(stopping, func() { w.signal(syscall.SIGQUIT) }) // which prints its stacks
		if err := c.end(w); err != nil {
			bad = append(bad, fmt.Sprintf("%s did not end in good order: %v", w.name, err))
		}
		impatient.Stop()
	}
	return c.said, bad
}
