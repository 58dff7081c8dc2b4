package results_test

import (
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
	require.Empty(t, set.Test("s/x", "TestSubtests").Why, "what a test logs is no reason if it passed")
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
	require.Equal(t, results.Tally{Passed: 7, Failed: 2, Skipped: 2, NotRun: 2}, set.Tally("s/x"))
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

func TestLoad_ABadOrCutOffFileIsAnErrorWithTheLine(t *testing.T) {
	const (
		header = `{"docgen":1,"go":"go1.26","packages":[{"package":"m/x","dir":"x","tests":["TestX"],"sources":{}}]}` + "\n"
		run    = `{"Action":"run","Package":"m/x","Test":"TestX"}` + "\n"
		pass   = `{"Action":"pass","Package":"m/x","Test":"TestX"}` + "\n"
		end    = `{"Action":"pass","Package":"m/x"}` + "\n"
	)
	set := load(t, header+run+pass+end)
	require.Equal(t, results.Passed, set.Test("x", "TestX").Status)
	load(t, strings.ReplaceAll(header+run+pass+end, "\n", "\r\n"))

	for file, want := range map[string]string{
		"":                                     "line 1: the file is empty",
		strings.TrimSpace(header):              "line 1: the file is empty, or cut off",
		run + pass + end:                       "line 1: this is not a file that docgen record has written",
		"[]\n":                                 "line 1: this is not a file",
		strings.Replace(header, "1", "2", 1):   "line 1: the file is of version 2, this docgen reads 1",
		header:                                 "line 1: the recording stops before the tests of x have ended",
		header + run + pass:                    "line 3: the recording stops before the tests of x have ended",
		header + run + pass[:20]:               "line 3: the line is cut off",
		header + run + pass + end[:len(end)-1]: "line 4: the line is cut off",
		header + run + "oops\n" + end:          `line 3: this is no event of go test: "oops"`,
		header + run + "{}\n" + end:            "line 3: this is no event of go test",
		header + run + "\n" + end:              "line 3: this is no event of go test",
		header + strings.ReplaceAll(end, "m/x", "m/y"): "line 2: an event of m/y, which the first line does not name",
	} {
		_, err := results.Load(strings.NewReader(file))
		require.ErrorContains(t, err, want, file)
	}
}
