package results

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// Record runs the tests of packages, patterns of the go command, in the module
// whose root is dir, and writes a results file to w. Progress gets a line for
// each package and each failed test.
//
// A test that fails is a result like any other. What keeps a test from having a
// result is an error: a package that does not build, sources that change while
// their tests run, a context that ends. Then what w got is not worth keeping.
func Record(ctx context.Context, dir string, packages []string, w io.Writer, progress io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	tree, err := source.Open(dir)
	if err != nil {
		return err
	}
	defer tree.Close()

	env, err := environment(ctx, dir)
	if err != nil {
		return err
	}
	before, err := survey(ctx, dir, tree, packages)
	if err != nil {
		return err
	}
	before.Go = env.GOVERSION
	if err := json.NewEncoder(w).Encode(before); err != nil {
		return err
	}
	run := recording{dir: dir, w: w, progress: progress, names: map[string]string{}, skips: map[string]map[string]bool{}}
	// Where things are on this machine is no result: the stack traces of two
	// machines would differ in nothing else.
	run.hide = folders(dir, filepath.Join(env.GOROOT, "src"), env.GOMODCACHE)
	for _, p := range before.Packages {
		run.names[p.Package] = p.Dir
	}
	if err := run.tests(ctx, packages); err != nil {
		return err
	}
	return before.unchanged(tree)
}

// unchanged wants the sources to be those of the header still. The go command
// reads them at a moment that nobody knows, so a result is theirs only if they
// were the same before and after.
func (before *header) unchanged(tree *source.Tree) error {
	hashes := newHashes(tree)
	for _, p := range before.Packages {
		after, err := hashes.all(p.Sources)
		if err != nil {
			return err
		}
		if !maps.Equal(after, p.Sources) {
			return fmt.Errorf("sources of %s changed while its tests ran: record again", p.Dir)
		}
	}
	return nil
}

// recording is one run of go test.
type recording struct {
	dir         string
	w, progress io.Writer
	names       map[string]string // folders by import path
	hide        [][]byte          // folders of the machine

	building map[string]*strings.Builder // what the compiler said, by package
	failed   []string                    // packages that did not build
	ended    int                         // packages whose tests ended
	skips    map[string]map[string]bool  // top-level tests that were skipped, or parts of them, by package
}

func (r *recording) tests(ctx context.Context, packages []string) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(running, "go", append([]string{"test", "-json", "-count=1"}, packages...)...)
	cmd.Dir = r.dir
	// Interrupted, the go command removes what it has built.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 3 * time.Second
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := r.events(out)
	if readErr != nil {
		stop()
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case readErr != nil:
		return readErr
	case len(r.failed) > 0:
		return r.buildError()
	case err != nil && !errors.As(err, &exit):
		return fmt.Errorf("go test: %w", err)
	case r.ended < len(r.names):
		return fmt.Errorf("go test stopped after %d of %d packages: %s", r.ended, len(r.names), &complaints)
	}
	return nil
}

// events copies the events to the file as they come.
func (r *recording) events(out io.Reader) error {
	r.building = map[string]*strings.Builder{}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, folder := range r.hide {
			line = bytes.ReplaceAll(line, folder, nil)
		}
		if err := r.note(line); err != nil {
			return err
		}
		if _, err := r.w.Write(line); err != nil {
			return err
		}
	}
}

// folders are how folders look inside a string of JSON.
func folders(names ...string) [][]byte {
	var found [][]byte
	for _, name := range names {
		if !filepath.IsAbs(name) {
			continue // an unset variable
		}
		quoted, _ := json.Marshal(name + string(filepath.Separator)) // a string has always a form
		found = append(found, quoted[1:len(quoted)-1])
	}
	return found
}

// note follows the run: what fails to build, and what progress is to tell.
func (r *recording) note(line []byte) error {
	var e struct {
		event
		ImportPath string
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("go test printed what is no event: %s", bytes.TrimSpace(line))
	}
	dir := r.names[e.Package]
	switch {
	case e.Action == "build-output":
		if r.building[e.ImportPath] == nil {
			r.building[e.ImportPath] = &strings.Builder{}
		}
		r.building[e.ImportPath].WriteString(e.Output)
	case e.Action == "build-fail":
		r.failed = append(r.failed, e.ImportPath)
	case e.Package == "" || statuses[e.Action] == "":
	case e.Test == "":
		r.ended++
		_, _ = fmt.Fprintf(r.progress, "%s\t%s\t%.1fs\n", statuses[e.Action], dir, e.Elapsed)
		if n := len(r.skips[e.Package]); n > 0 {
			_, _ = fmt.Fprintf(r.progress, "skipped\t%s\t%d tests, in whole or in part\n", dir, n)
		}
	case e.Action == "fail":
		_, _ = fmt.Fprintf(r.progress, "failed\t%s\t%s\n", dir, e.Test)
	case e.Action == "skip":
		if r.skips[e.Package] == nil {
			r.skips[e.Package] = map[string]bool{}
		}
		top, _, _ := strings.Cut(e.Test, "/")
		r.skips[e.Package][top] = true
	}
	return nil
}

func (r *recording) buildError() error {
	var said strings.Builder
	for _, path := range r.failed {
		if output := r.building[path]; output != nil {
			said.WriteString(output.String())
		}
	}
	return fmt.Errorf("the tests do not build, so they have no results:\n%s", strings.TrimSpace(said.String()))
}
