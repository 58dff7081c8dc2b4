package results_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

func TestTest_OutputIsWhatTheTestPrintedWithoutGoTestsLines(t *testing.T) {
	set := load(t, record(t).file)
	for name, want := range map[string]string{
		"TestPasses": "no line end    x_test.go:13: two is 2\n",
		"TestFails":  "--- PASS: TestOther (0.00s)\nPASS\n    x_test.go:19: bad\n        worse\n",
		"TestSubtests": "    x_test.go:30: before\n    x_test.go:31: inside\n" +
			"    x_test.go:32: not here\n    x_test.go:33: after\n",
		"TestSubtests/one_of_two": "    x_test.go:31: inside\n",
		"TestParallel1":           loggedInTurn("one"),
		"TestParallel2":           loggedInTurn("two"),
		"Example":                 "",
		"TestNone":                "",
	} {
		require.Equal(t, want, set.Test("s/x", name).Output, name)
	}
}

// loggedInTurn is what a test logs while another one does, and no line of that.
func loggedInTurn(name string) string {
	var lines string
	for i := range 3 {
		lines += fmt.Sprintf("    x_test.go:56: %s %d\n", name, i)
	}
	return lines
}

func TestTest_WhyIsTheMessageOfTheSkip(t *testing.T) {
	set := load(t, record(t).file)
	require.Equal(t, "needs a server:\nset URL", set.Test("s/x", "TestSkips").Why)
	require.Equal(t, "not here", set.Test("s/x", "TestSubtests/a/b").Why)
	require.Empty(t, set.Test("s/x", "TestSkipsSilently").Why)
	require.Empty(t, set.Test("s/x", "TestPasses").Why, "what a test logs is no reason if it passed")
	require.Empty(t, set.Test("s/x", "TestFails").Why)
	require.Equal(t, "skipped: not here", set.Test("s/x", "TestSubtests/a/b").Line())
	require.Equal(t, "passed", set.Test("s/x", "TestPasses").Line())
}

func TestTest_LongOutputLosesItsMiddleAndSaysSo(t *testing.T) {
	set := load(t, record(t).file)
	output := set.Test("s/x", "TestLong").Output
	require.Less(t, len(output), 16<<10+100)
	require.True(t, strings.HasPrefix(output, "first\nline 0 é\n"))
	require.True(t, strings.HasSuffix(output, "line 2999 é\nlast\n"))
	require.Regexp(t, `\n\n\[\d+ bytes are cut out here\]\n\nline \d+ é\n`, output)
	var cut int
	_, err := fmt.Sscanf(output[strings.Index(output, "[")+1:], "%d", &cut)
	require.NoError(t, err)
	whole := len("first\nlast\n")
	for i := range 3000 {
		whole += len(fmt.Sprintln("line", i, "é"))
	}
	note := len(fmt.Sprintf("\n[%d bytes are cut out here]\n\n", cut))
	require.Equal(t, whole, len(output)-note+cut)

	require.Regexp(t, `^xé+\n\n\[\d+ bytes are cut out here\]\n\né+\n$`, set.Test("s/x", "TestOneLongLine").Output, "no character is halved")
}

func TestTally_CountsTopLevelTestsAlsoBelowAndThoseThatAPanicKeptFromRunning(t *testing.T) {
	set := load(t, record(t).file)
	require.Equal(t, results.Tally{Passed: 0, Failed: 1, NotRun: 2}, set.Tally("s/x/cmd/tool"))
	require.Equal(t, results.Tally{Passed: 6, Failed: 2, Skipped: 3, NotRun: 2}, set.Tally("s/x"))
	require.Zero(t, set.Tally("s/y"))
	require.Zero(t, set.Tally("s/x/c"), "a folder that only begins so is another one")

	require.Equal(t, results.Failed, set.Test("s/x/cmd/tool", "TestPanics").Status)
	require.Contains(t, set.Test("s/x/cmd/tool", "TestPanics").Output, "panic: boom")
	begun := set.Test("s/x/cmd/tool", "TestBegins")
	require.Equal(t, results.NotRun, begun.Status)
	require.Equal(t, "not run: it began, and the test program ended before it did", begun.Line())
}

func TestSet_NothingRecordedIsNotRun(t *testing.T) {
	var set *results.Set
	require.Equal(t, results.Result{Status: results.NotRun}, set.Test("s/x", "TestX"))
	require.Zero(t, set.Tally("s/x"))
	require.Empty(t, set.Stale(nil))
}

// recorded is a results file of the package m/x in the folder x.
func recorded(t *testing.T, events ...string) *results.Set {
	t.Helper()
	return load(t, header+strings.Join(events, "")+end)
}

const (
	header = `{"docgen":1,"go":"go1.26","packages":[{"package":"m/x","dir":"x","tests":["TestX"],"sources":{}}]}` + "\n"
	end    = `{"Action":"pass","Package":"m/x"}` + "\n"
)

// did is an event of m/x, printed one of output.
func did(action, test string) string {
	return fmt.Sprintf(`{"Action":%q,"Package":"m/x","Test":%q}`+"\n", action, test)
}

func printed(test, output string) string {
	quoted, _ := json.Marshal(output) // a string has always a form
	return fmt.Sprintf(`{"Action":"output","Package":"m/x","Test":%q,"Output":%s}`+"\n", test, quoted)
}

// ran is a subtest that ends so; one that is skipped says why.
func ran(test, action string) string {
	said := ""
	if action == "skip" {
		said = printed(test, "    x_test.go:7: no server for "+test+"\n")
	}
	return did("run", test) + said + did(action, test)
}

func TestTest_PassedTestWithSkippedSubtestsIsSkipped(t *testing.T) {
	for want, subtests := range map[string][]string{
		"passed":                           {ran("TestX/a", "pass"), ran("TestX/b", "pass")},
		"skipped: no server for TestX/a":   {ran("TestX/a", "skip"), ran("TestX/b", "skip")},
		"skipped: no server for TestX/g/a": {did("run", "TestX/g"), ran("TestX/g/a", "skip"), ran("TestX/g/b", "skip"), did("pass", "TestX/g")},
		"skipped: 1 of its 3 subtests: no server for TestX/b":   {ran("TestX/a", "pass"), ran("TestX/b", "skip"), ran("TestX/c", "pass")},
		"skipped: 2 of its 3 subtests: no server for TestX/g/a": {did("run", "TestX/g"), ran("TestX/g/a", "skip"), ran("TestX/g/b", "skip"), did("pass", "TestX/g"), ran("TestX/h", "pass")},
		"skipped: 1 of its 2 subtests":                          {ran("TestX/a", "pass"), did("run", "TestX/b"), did("skip", "TestX/b")},
	} {
		set := recorded(t, did("run", "TestX"), strings.Join(subtests, ""), did("pass", "TestX"))
		require.Equal(t, want, set.Test("x", "TestX").Line())
		tally := results.Tally{Skipped: 1}
		if want == "passed" {
			tally = results.Tally{Passed: 1}
		}
		require.Equal(t, tally, set.Tally("x"), want)
	}
}

func TestTest_FailedTestWithSkippedSubtestsIsFailed(t *testing.T) {
	set := recorded(t, did("run", "TestX"), ran("TestX/a", "skip"), ran("TestX/b", "fail"), did("fail", "TestX"))
	require.Equal(t, "failed", set.Test("x", "TestX").Line())
}

// What internal/pgtest logs tells of the machine: it explains a skip or a
// failure, and nothing beside a test that passed.
func TestTest_OutputOfAPassedTestLeavesOutWhichServerItUsed(t *testing.T) {
	log := []string{
		"    x_test.go:3: before\n",
		"    pgtest.go:65: pgtest: using /usr/lib in /tmp/pgtest-abc\n",
		"        not container: dial tcp 10.0.0.1:53\n",
		"plain\n",
		"    x_test.go:5: it holds\n",
		"        and says pgtest: twice\n",
	}
	for action, want := range map[string]string{
		"pass": log[0] + log[3] + log[4] + log[5],
		"fail": strings.Join(log, ""),
		"skip": strings.Join(log, ""),
	} {
		events := did("run", "TestX") + did("run", "TestX/a")
		for _, line := range log {
			events += printed("TestX/a", line)
		}
		set := recorded(t, events, did(action, "TestX/a"), did(action, "TestX"))
		require.Equal(t, want, set.Test("x", "TestX/a").Output, action)
		require.Equal(t, want, set.Test("x", "TestX").Output, action)
	}
}

func TestTest_OutputHasNoEscapeSequencesAndNoControlCharacters(t *testing.T) {
	set := recorded(t, did("run", "TestX"),
		printed("TestX", "\x1b[1;31mred\x1b[0m \x1b]0;title\aé\ttab\x00\b\u0085\x7f\x1b(B end\r\n"),
		printed("TestX", "    x_test.go:7: \x1b[2mno server\x1b[m\n"), did("skip", "TestX"))
	require.Equal(t, "red é\ttab end\n    x_test.go:7: no server\n", set.Test("x", "TestX").Output)
	require.Equal(t, "no server", set.Test("x", "TestX").Why)
}

func TestLoad_ABadOrCutOffFileIsAnErrorWithTheLine(t *testing.T) {
	run, pass := did("run", "TestX"), did("pass", "TestX")
	set := load(t, header+run+pass+end)
	require.Equal(t, results.Passed, set.Test("x", "TestX").Status)
	load(t, strings.ReplaceAll(header+run+pass+end, "\n", "\r\n"))

	for file, want := range map[string]string{
		"":                                      "line 1: the file is empty",
		strings.TrimSpace(header):               "line 1: the file is empty, or cut off",
		run + pass + end:                        "line 1: this is not a file that docgen record has written",
		"[]\n":                                  "line 1: this is not a file",
		strings.Replace(header, "1", "2", 1):    "line 1: the file is of version 2, this docgen reads 1",
		header:                                  "line 1: the recording stops before the tests of x have ended",
		header + run + pass:                     "line 3: the recording stops before the tests of x have ended",
		header + run + pass[:20]:                "line 3: the line is cut off",
		header + run + pass + end[:len(end)-1]:  "line 4: the line is cut off",
		header + run + "oops\n" + end:           `line 3: this is no event of go test: "oops"`,
		header + run + "{}\n" + end:             "line 3: this is no event of go test",
		header + run + "\n" + end:               "line 3: this is no event of go test",
		`{"docgen":1,"packages":[null]}` + "\n": "line 1: a package of the first line is null",
		header + strings.ReplaceAll(end, "m/x", "m/y"): "line 2: an event of m/y, which the first line does not name",
	} {
		_, err := results.Load(strings.NewReader(file))
		require.ErrorContains(t, err, want, file)
	}
}

// A test's name comes from a file, and need not be one that go test gives.
func TestLoad_NamesThatAreNoPathsAreNamesToo(t *testing.T) {
	for _, name := range []string{"/", "//", "a//b", ".", "..", "/a", "a/"} {
		set := recorded(t, did("run", name), printed(name, "said\n"), did("pass", name))
		require.Equal(t, "said\n", set.Test("x", name).Output, name)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(header + did("run", "TestX") + printed("TestX", "    x_test.go:7: pgtest: \x1b[1m\n") + did("pass", "TestX") + end)
	f.Add(`{"docgen":1,"packages":[null]}` + "\n")
	for _, name := range []string{"/", "//", "a//b", "."} {
		f.Add(header + printed(name, "x\n") + end)
	}
	f.Fuzz(func(t *testing.T, file string) {
		set, err := results.Load(strings.NewReader(file))
		if err != nil {
			return
		}
		for _, line := range strings.Split(file, "\n") {
			var e struct{ Test string }
			if json.Unmarshal([]byte(line), &e) == nil {
				_ = set.Test("x", e.Test).Line()
			}
		}
		_ = set.Tally("x")
	})
}
