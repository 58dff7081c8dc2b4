package results

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostOutput is how much of a test's output is kept: a page that holds more is
// not read. The end says how a test failed, so the middle goes.
const mostOutput = 16 << 10

// frames are the beginnings of go test's own lines about a test. Its name
// follows.
var frames = regexp.MustCompile(`^(?:=== (?:RUN|PAUSE|CONT|NAME) +(\S+)|--- (?:PASS|FAIL|SKIP): (\S+) \([0-9.]+s\))\n$`)

// isFrame tells whether an output event is go test's own. A test may print
// lines that look alike; those of other tests stay.
func isFrame(e event) bool {
	match := frames.FindStringSubmatch(strings.TrimLeft(e.Output, " "))
	return match != nil && (match[1] == e.Test || match[2] == e.Test)
}

// logged is the beginning of what t.Log and t.Skip print. Further lines of the
// same message are indented by four more.
var logged = regexp.MustCompile(`^    \S+\.go:\d+: (?s:(.*))$`)

const continued = "        "

// log notes the latest message: the one before a skip is the skip's reason. It
// tells whether the line is chatter.
func (o *outcome) log(output string) bool {
	if match := logged.FindStringSubmatch(output); match != nil {
		o.skipped, o.chatter = match[1], isChatter(match[1])
	} else if rest, ok := strings.CutPrefix(output, continued); ok {
		o.skipped += rest
	} else {
		o.chatter = false
	}
	return o.chatter
}

// escapes are what a terminal takes for colours, titles and moves.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// printable takes out what no page can show: escape sequences, and control
// characters apart from tabs and line ends.
func printable(output string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' {
			return -1
		}
		return r
	}, escapes.ReplaceAllString(output, ""))
}

// shorten cuts the middle out of what is too long.
func shorten(output string) string {
	if len(output) <= mostOutput {
		return output
	}
	head, tail := lastBreak(output[:mostOutput/2]), firstBreak(output[len(output)-mostOutput/2:])
	cut := output[len(head) : len(output)-len(tail)]
	return fmt.Sprintf("%s\n[%d bytes are cut out here]\n\n%s", head, len(cut), tail)
}

// lastBreak shortens s to whole lines; if it is one line, to whole characters.
func lastBreak(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		return s[:i+1]
	}
	for !utf8.ValidString(s) && len(s) > 0 {
		s = s[:len(s)-1]
	}
	return s + "\n"
}

// firstBreak is lastBreak from the other end.
func firstBreak(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 && i+1 < len(s) {
		return s[i+1:]
	}
	for !utf8.ValidString(s) && len(s) > 0 {
		s = s[1:]
	}
	return s
}
