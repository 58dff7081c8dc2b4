// Package results records what go test says of the samples, and knows which
// sources it said it of.
//
// A results file is lines of JSON. The first is ours: it names the packages and
// the sources that their results depend on, each folder with a hash. The others
// are the events of go test -json, as they came. So the site can be built, and a
// result that is older than its sources found out, without running anything.
package results

import "time"

// Status is how a test ended.
type Status string

const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	NotRun  Status = "not run"
)

// Result is a test's recorded result.
//
// Of tests that run in parallel, go test knows who logged a line with t.Log, and
// can only guess who printed one with fmt.
type Result struct {
	Status Status
	Why    string // of a skip: the message that the test gave; of a test that did not run to its end: what is known
	Output string // what the test and its subtests printed, without go test's own lines
	Took   time.Duration
}

// Line is the result in a few words: "passed", or "skipped: why".
func (r Result) Line() string {
	if r.Why == "" {
		return string(r.Status)
	}
	return string(r.Status) + ": " + r.Why
}

// Tally counts the tests of a package.
type Tally struct{ Passed, Failed, Skipped, NotRun int }

// add counts a test that ended so.
func (t *Tally) add(status Status) {
	switch status {
	case Passed:
		t.Passed++
	case Failed:
		t.Failed++
	case Skipped:
		t.Skipped++
	default:
		t.NotRun++
	}
}
