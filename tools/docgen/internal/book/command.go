package book

import (
	"path"
	"regexp"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
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
	runFlag    = regexp.MustCompile(`\s-(?:test\.)?run[ =](?:'([^']*)'|"([^"]*)"|(\S+))`)
	packageArg = regexp.MustCompile(`(?:^|\s)(\./(?:[\w.-]+/)*[\w.-]*)`)
	makeTarget = regexp.MustCompile(`(?:^|&&|;|\|)\s*make ([a-z][a-z-]*)`)
	goesTo     = regexp.MustCompile(`(?:^|&&|;)\s*cd (\S+)`)
	separator  = regexp.MustCompile(`&&|\|\||;|\|\s`)
)

// checkCommands looks at what a command names. Those that run the tests are not
// run here, but what they name has to exist.
func (l *loading) checkCommands(p *page) {
	for _, c := range p.commands {
		c.RunsTests = runsTests.MatchString(c.Script)
		l.checkScript(p, c.Line, c.Script)
		if c.RunsTests && c.Output != nil {
			l.checkTestOutput(p, c)
		}
	}
	for code := range nodes[*Code](p.Doc) { // commands that nobody runs
		if code.Lang == "sh" && !code.Run {
			line, _ := p.place(position(code))
			l.checkScript(p, line, code.Body)
		}
	}
}

// checkScript looks at each line of a script, whose fence is at a line of the
// article.
func (l *loading) checkScript(p *page, fence int, script string) {
	begun, folder := "", "."
	for i, line := range strings.Split(strings.TrimSuffix(script, "\n"), "\n") {
		if before, goesOn := strings.CutSuffix(line, "\\"); goesOn {
			begun += before
			continue
		}
		l.checkCommandLine(p, fence+1+i, folder, begun+line)
		if m := goesTo.FindStringSubmatch(begun + line); m != nil {
			folder = path.Join(folder, m[1])
		}
		begun = ""
	}
}

func (l *loading) checkCommandLine(p *page, line int, folder, command string) {
	if strings.HasPrefix(strings.TrimSpace(command), "$ ") {
		p.report(line, 1, "the command begins with a prompt, which a reader would copy; take it away")
	}
	for _, m := range makeTarget.FindAllStringSubmatch(command, -1) {
		if makefile, err := l.tree.Read("Makefile"); err == nil && !strings.Contains("\n"+string(makefile), "\n"+m[1]+":") {
			p.report(line, 1, "the Makefile has no target %s", m[1])
		}
	}
	for _, part := range separator.Split(command, -1) {
		if m := goesTo.FindStringSubmatch(part); m != nil {
			folder = path.Join(folder, m[1])
		}
		folders, missing := l.folders(folder, part)
		if missing != "" {
			p.report(line, 1, "%s does not exist in the repository", missing)
			return
		}
		if strings.Contains(part, "go test") {
			for _, m := range runFlag.FindAllStringSubmatch(part, -1) {
				l.checkRunFlag(p, line, m[1]+m[2]+m[3], folders)
			}
		}
	}
}

// folders are those that a command names, or the one that it is run in.
func (l *loading) folders(in, command string) (folders []string, missing string) {
	for _, m := range packageArg.FindAllStringSubmatch(command, -1) {
		folder := path.Join(in, strings.TrimSuffix(strings.TrimSuffix(m[1], "..."), "/"))
		if _, err := l.tree.Stat(folder); err != nil {
			return nil, m[1]
		}
		folders = append(folders, folder)
	}
	if len(folders) == 0 {
		folders = []string{in}
	}
	return folders, ""
}

// checkRunFlag wants each alternative of a -run to match a test of the folders
// that it is for.
func (l *loading) checkRunFlag(p *page, line int, pattern string, folders []string) {
	top, sub, _ := strings.Cut(pattern, "/")
	for _, alternative := range alternatives(top) {
		matcher, err := regexp.Compile(alternative)
		if err != nil {
			p.report(line, 1, "-run %s is no regular expression: %v", pattern, err)
			return
		}
		found := false
		for _, folder := range folders {
			for _, test := range l.testsBelow(folder) {
				if matcher.MatchString(test.Name) && (sub == "" || l.hasSubtest(test, sub)) {
					found = true
				}
			}
		}
		if !found {
			p.report(line, 1, "-run %s matches no test there", pattern)
			return
		}
	}
}

// alternatives splits ^(A|B)$ and A|B.
func alternatives(pattern string) []string {
	inner := strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$")
	if strings.HasPrefix(inner, "(") && strings.HasSuffix(inner, ")") {
		inner = inner[1 : len(inner)-1]
	}
	if !strings.Contains(inner, "|") || strings.ContainsAny(inner, "()") {
		return []string{pattern}
	}
	var parts []string
	for part := range strings.SplitSeq(inner, "|") {
		parts = append(parts, "^(?:"+strings.TrimSuffix(strings.TrimPrefix(part, "^"), "$")+")")
	}
	return parts
}

// hasSubtest tells whether a test has a subtest: one with a literal name, or one
// that has been recorded.
func (l *loading) hasSubtest(test source.Test, pattern string) bool {
	var names []string
	for level := range strings.SplitSeq(pattern, "/") {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(level, "^"), "$"))
	}
	name := test.Name + "/" + strings.Join(names, "/")
	if _, err := l.tree.Cut(test.Path, name, source.Modifiers{}); err == nil {
		return true
	}
	return l.result(test, name).Status != results.NotRun
}

// hasTest tells whether the sample has a test, or a subtest of one.
func (l *loading) hasTest(p *page, name string) (source.Test, bool) {
	top, sub, _ := strings.Cut(name, "/")
	for _, test := range l.testsBelow(p.Sample) {
		if test.Name == top {
			return test, sub == "" || l.hasSubtest(test, sub)
		}
	}
	return source.Test{}, false
}

var (
	verdictLine = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+)`)
	okLine      = regexp.MustCompile(`^ok\s+(\S+)`)
	testLine    = regexp.MustCompile(`^(?:=== (?:RUN|PAUSE|CONT|NAME) .*|PASS|FAIL(?:\s.*)?|\?\s.*|\s.*|\.\.\.|…)?$`)
)

// checkTestOutput looks at what go test is said to print: the names exist,
// nothing that failed is said to pass, and each line is one that it prints.
func (l *loading) checkTestOutput(p *page, c *Command) {
	for i, line := range strings.Split(strings.TrimSuffix(c.Output.Text, "\n"), "\n") {
		at := c.Output.Line + 1 + i
		if m := verdictLine.FindStringSubmatch(line); m != nil {
			l.checkVerdict(p, at, m[1], m[2])
		} else if m := okLine.FindStringSubmatch(line); m != nil {
			folder, ours := strings.CutPrefix(m[1], l.options.Module+"/")
			if _, err := l.tree.Stat(folder); !ours || err != nil {
				p.report(at, 1, "%s is no package of the repository", m[1])
			} else if !l.stale[folder] && l.options.Results.Tally(folder).Failed > 0 {
				p.report(at, 1, "%s is said to be ok, and had a test that failed when it was recorded", m[1])
			}
		} else if strings.Contains(c.Script, "go test") && !testLine.MatchString(line) {
			p.report(at, 1, "%q is no line that go test prints", line)
		}
	}
}

func (l *loading) checkVerdict(p *page, line int, verdict, name string) {
	test, ok := l.hasTest(p, name)
	switch {
	case !ok:
		p.report(line, 1, "%s has no test %s", p.Sample, name)
	case verdict == "PASS" && l.result(test, name).Status == results.Failed:
		p.report(line, 1, "%s is said to pass, and failed when it was recorded", name)
	}
}

// checkOutputs compares what a test is said to print with what it did print.
func (l *loading) checkOutputs(p *page) {
	for _, said := range p.outputs {
		test, ok := l.hasTest(p, said.Test)
		if !ok {
			p.report(said.Line, said.Col, "output=%s: %s has no such test", said.Test, p.Sample)
			continue
		}
		result := l.result(test, said.Test)
		if result.Status == results.Passed && !samePrinted(result.Output, said.Text) {
			p.report(said.Line, said.Col, "%s printed something else when it was recorded; mend the text, or the test:%s", said.Test, finding.Indent(result.Output))
		}
	}
}

// logPlace is where t.Log says that it was called.
var logPlace = regexp.MustCompile(`(?m)^    \S+\.go:\d+: `)

// samePrinted compares what a test printed with what the article says. The
// article may leave away the places that t.Log puts before its lines.
func samePrinted(printed, said string) bool {
	printed, said = strings.TrimSpace(printed), strings.TrimSpace(said)
	return printed == said || strings.TrimSpace(logPlace.ReplaceAllString("    "+printed, "")) == said
}

// checkBreaks wants the tests that patches break to exist.
func (l *loading) checkBreaks(p *page) {
	for _, b := range p.breaks {
		if _, ok := l.hasTest(p, b.Test); !ok {
			p.report(b.Line, b.Col, "breaks=%s: %s has no such test", b.Test, p.Sample)
		}
	}
}
