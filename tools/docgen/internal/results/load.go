package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Set is what was recorded. A nil Set is one of which nothing was.
type Set struct {
	packages []*tested                      // by folder
	tests    map[string]map[string]*outcome // by folder and name
}

// event is a line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// outcome is what the events have said of a test so far.
type outcome struct {
	status  Status // empty until it ended
	took    time.Duration
	skipped string // the latest thing that it logged
	chatter bool   // and that is about the machine
	parent  bool   // it has subtests
	output  strings.Builder
	quiet   strings.Builder // output without chatter
}

// Load reads a results file. A line that cannot be read, or the end of the file
// before that of the tests, is an error with the line: half a recording looks
// like tests that pass.
func Load(r io.Reader) (*Set, error) {
	l := loader{
		lines: bufio.NewReader(r),
		set:   &Set{tests: map[string]map[string]*outcome{}},
		dirs:  map[string]string{},
		ended: map[string]bool{},
	}
	if err := l.header(); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	for {
		data, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = l.event(data)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", l.number, err)
		}
	}
	for _, p := range l.set.packages {
		if !l.ended[p.Dir] {
			return nil, fmt.Errorf("line %d: the recording stops before the tests of %s have ended: run docgen record", l.number, p.Dir)
		}
	}
	return l.set, nil
}

// loader reads one file.
type loader struct {
	lines  *bufio.Reader
	number int // of the line read last
	set    *Set
	dirs   map[string]string // by import path
	ended  map[string]bool   // by folder
}

// next returns the next line. A last line without its end was cut off.
func (l *loader) next() ([]byte, error) {
	data, err := l.lines.ReadBytes('\n')
	switch {
	case err == nil:
		l.number++
	case len(data) > 0:
		l.number++
		err = errors.New("the line is cut off: run docgen record")
	}
	return bytes.TrimRight(data, "\r\n"), err
}

func (l *loader) header() error {
	data, err := l.next()
	if err != nil {
		return errors.New("the file is empty, or cut off: run docgen record")
	}
	var h header
	if err := json.Unmarshal(data, &h); err != nil || h.Docgen == 0 {
		return errors.New("this is not a file that docgen record has written")
	}
	if h.Docgen != format {
		return fmt.Errorf("the file is of version %d, this docgen reads %d: run docgen record", h.Docgen, format)
	}
	for _, p := range h.Packages {
		if p == nil {
			return errors.New("a package of the first line is null: run docgen record")
		}
		l.dirs[p.Package] = p.Dir
		l.set.tests[p.Dir] = map[string]*outcome{}
	}
	l.set.packages = h.Packages
	return nil
}

func (l *loader) event(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil || e.Action == "" {
		return fmt.Errorf("this is no event of go test: %.60q", data)
	}
	if e.Package == "" {
		return nil // of the build
	}
	dir, ok := l.dirs[e.Package]
	if !ok {
		return fmt.Errorf("an event of %s, which the first line does not name: run docgen record", e.Package)
	}
	if e.Test == "" {
		switch e.Action {
		case "pass", "fail", "skip":
			l.ended[dir] = true
		}
		return nil
	}
	l.set.apply(dir, e)
	return nil
}

// statuses are the actions that end a test.
var statuses = map[string]Status{"pass": Passed, "fail": Failed, "skip": Skipped}

// apply takes in an event of a test.
func (s *Set) apply(dir string, e event) {
	tests := s.tests[dir]
	test := tests[e.Test]
	if test == nil {
		test = &outcome{}
		tests[e.Test] = test
		if end := strings.LastIndexByte(e.Test, '/'); end >= 0 && tests[e.Test[:end]] != nil {
			tests[e.Test[:end]].parent = true
		}
	}
	if status, ok := statuses[e.Action]; ok {
		test.status = status
		test.took = time.Duration(e.Elapsed * float64(time.Second))
		return
	}
	e.Output = printable(e.Output)
	if e.Action != "output" || isFrame(e) {
		return
	}
	chatter := test.log(e.Output)
	// A parent's output is its subtests' too, in the order in which it came.
	for name := e.Test; ; {
		if parent := tests[name]; parent != nil {
			parent.output.WriteString(e.Output)
			if !chatter {
				parent.quiet.WriteString(e.Output)
			}
		}
		end := strings.LastIndexByte(name, '/')
		if end < 0 {
			return
		}
		name = name[:end]
	}
}

// Test returns the result of a test of the package in dir. The name is the one
// that go test uses: TestX, TestX/sub_test.
func (s *Set) Test(dir, name string) Result {
	if s == nil || s.tests[dir] == nil || s.tests[dir][name] == nil {
		return Result{Status: NotRun}
	}
	test := s.tests[dir][name]
	result := Result{Status: test.status, Took: test.took}
	switch test.status {
	case Skipped:
		result.Why = strings.TrimSpace(test.skipped)
	case Passed:
		if why, partly := s.partly(dir, name); partly {
			result.Status, result.Why = Skipped, why
		}
	case "":
		result.Status = NotRun
		result.Why = "it began, and the test program ended before it did"
	}
	output := &test.output
	if result.Status == Passed {
		output = &test.quiet
	}
	result.Output = shorten(output.String())
	return result
}

// Tally counts the top-level tests of the package in dir and of those below it.
// A test that the sources have and that did not run to its end, because another
// one panicked, is counted as not run.
func (s *Set) Tally(dir string) Tally {
	var tally Tally
	if s == nil {
		return tally
	}
	for _, p := range s.packages {
		if p.Dir != dir && !strings.HasPrefix(p.Dir, dir+"/") {
			continue
		}
		for _, name := range p.Tests {
			tally.add(s.Test(p.Dir, name).Status)
		}
	}
	return tally
}
