package book

import (
	"regexp"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

// Command is a sh run block.
type Command struct {
	Path      string
	Line, Col int
	Script    string
	Output    *Output // what it is said to print; nil when nothing is said
	RunsTests bool    // CI runs it; here its names are checked alone
}

// Output is what an article says that a command or a test prints.
type Output struct {
	Line, Col int
	Test      string // nothing for a command's
	Text      string
	found     bool
}

// Break is a patch that makes a test fail.
type Break struct {
	Path      string
	Line, Col int
	Dir       string // the sample's
	Test      string
	Patch     string
}

var (
	runsTests  = regexp.MustCompile(`\bgo test\b|\bmake (?:test|test-short|race|cover|soak|bench)\b`)
	runFlag    = regexp.MustCompile(`-run[ =]'?([^'\s]+)'?`)
	packageArg = regexp.MustCompile(`\./(samples|relay|tools|internal)(/[\w./-]*)?`)
	makeTarget = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
)

// checkCommands looks at what a command names. Those that run the tests are not
// run here, but what they name has to exist.
func (l *loading) checkCommands(p *page) {
	for _, c := range p.commands {
		c.RunsTests = runsTests.MatchString(c.Script)
		for i, line := range strings.Split(strings.TrimSuffix(c.Script, "\n"), "\n") {
			l.checkCommandLine(p, c.Line+1+i, line)
		}
		if c.RunsTests && c.Output != nil {
			l.checkTestOutput(p, c)
		}
	}
	for code := range nodes[*Code](p.Doc) { // commands that nobody runs
		if code.Lang == "sh" && !code.Run {
			line, _ := p.place(position(code))
			for i, command := range strings.Split(strings.TrimSuffix(code.Body, "\n"), "\n") {
				l.checkCommandLine(p, line+1+i, command)
			}
		}
	}
}

func (l *loading) checkCommandLine(p *page, line int, command string) {
	if strings.HasPrefix(strings.TrimSpace(command), "$ ") {
		p.report(line, 1, "the command begins with a prompt, which a reader would copy; take it away")
	}
	for _, m := range packageArg.FindAllString(command, -1) {
		folder := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(m, "./"), "..."), "/")
		if _, err := l.tree.Stat(folder); err != nil {
			p.report(line, 1, "%s does not exist in the repository", m)
			return
		}
	}
	for _, m := range makeTarget.FindAllStringSubmatch(command, -1) {
		if makefile, err := l.tree.Read("Makefile"); err == nil && !strings.Contains("\n"+string(makefile), "\n"+m[1]+":") {
			p.report(line, 1, "the Makefile has no target %s", m[1])
		}
	}
	if m := runFlag.FindStringSubmatch(command); m != nil && strings.Contains(command, "go test") {
		l.checkRunFlag(p, line, m[1], command)
	}
}

// checkRunFlag wants a -run to match a test of the packages that it is for.
func (l *loading) checkRunFlag(p *page, line int, pattern, command string) {
	top, _, _ := strings.Cut(pattern, "/")
	matcher, err := regexp.Compile(top)
	if err != nil {
		p.report(line, 1, "-run %s is no regular expression: %v", pattern, err)
		return
	}
	for _, m := range packageArg.FindAllString(command, -1) {
		folder := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(m, "./"), "..."), "/")
		for _, test := range l.testsBelow(folder) {
			if matcher.MatchString(test.Name) {
				return
			}
		}
	}
	p.report(line, 1, "-run %s matches no test there", pattern)
}

var (
	verdictLine = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+)`)
	okLine      = regexp.MustCompile(`^ok\s+(\S+)`)
)

// checkTestOutput looks at what go test is said to print: the names exist, and
// nothing that failed is said to pass.
func (l *loading) checkTestOutput(p *page, c *Command) {
	for i, line := range strings.Split(c.Output.Text, "\n") {
		if m := verdictLine.FindStringSubmatch(line); m != nil {
			l.checkVerdict(p, c.Output.Line+1+i, m[1], m[2])
		}
		if m := okLine.FindStringSubmatch(line); m != nil {
			folder, ours := strings.CutPrefix(m[1], l.options.Module+"/")
			if _, err := l.tree.Stat(folder); !ours || err != nil {
				p.report(c.Output.Line+1+i, 1, "%s is no package of the repository", m[1])
			}
		}
	}
}

func (l *loading) checkVerdict(p *page, line int, verdict, name string) {
	top, _, _ := strings.Cut(name, "/")
	for _, test := range l.testsBelow(p.Sample) {
		if test.Name == top {
			if verdict == "PASS" && l.result(test, name).Status == results.Failed {
				p.report(line, 1, "%s is said to pass, and failed when it was recorded", name)
			}
			return
		}
	}
	p.report(line, 1, "%s has no test %s", p.Sample, name)
}

// checkOutputs compares what a test is said to print with what it did print.
func (l *loading) checkOutputs(p *page) {
	for _, said := range p.outputs {
		for _, test := range l.testsBelow(p.Sample) {
			top, _, _ := strings.Cut(said.Test, "/")
			if test.Name != top {
				continue
			}
			said.found = true
			result := l.result(test, said.Test)
			if result.Status == results.Passed && strings.TrimSpace(result.Output) != strings.TrimSpace(said.Text) {
				p.report(said.Line, said.Col, "%s printed something else when it was recorded:\n%s", said.Test, result.Output)
			}
		}
		if !said.found {
			p.report(said.Line, said.Col, "output=%s: %s has no such test", said.Test, p.Sample)
		}
	}
}

// checkBreaks wants the tests that patches break to exist.
func (l *loading) checkBreaks(p *page) {
	for _, b := range p.breaks {
		top, _, _ := strings.Cut(b.Test, "/")
		found := false
		for _, test := range l.testsBelow(p.Sample) {
			found = found || test.Name == top
		}
		if !found {
			p.report(b.Line, b.Col, "breaks=%s: %s has no such test", b.Test, p.Sample)
		}
	}
}
