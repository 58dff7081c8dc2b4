// Package prove runs what the articles say can be run: their commands, and the
// patches that break a test.
package prove

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
)

// Commands runs the sh run blocks in the repository's root, apart from those that
// run the tests, and compares what they print with what the article says.
func Commands(ctx context.Context, root string, commands []*book.Command) []finding.Finding {
	var findings []finding.Finding
	for _, c := range commands {
		if c.RunsTests {
			continue
		}
		printed, err := output(ctx, root, "sh", "-e", "-c", c.Script)
		switch {
		case ctx.Err() != nil:
			return findings
		case err != nil:
			findings = append(findings, finding.Finding{File: c.Path, Line: c.Line, Col: c.Col,
				Message: fmt.Sprintf("the command failed (%v); mend it, or what it runs. It printed:%s", err, finding.Indent(printed))})
		case c.Output != nil && !same(printed, c.Output.Text):
			findings = append(findings, finding.Finding{File: c.Path, Line: c.Output.Line, Col: c.Output.Col,
				Message: "the command prints something else; put into the article what it prints:" + finding.Indent(printed)})
		}
	}
	return findings
}

var took = regexp.MustCompile(`\b\d+(\.\d+)?(ns|µs|ms|s)\b`)

// same compares two outputs, in which times may differ, and spaces at the end of
// a line.
func same(a, b string) bool { return normal(a) == normal(b) }

func normal(s string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")), "\n")
	for i, line := range lines {
		lines[i] = took.ReplaceAllString(strings.TrimRight(line, " \t"), "#")
	}
	return strings.Join(lines, "\n")
}
