package book

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/relay-samples/relay-go/tools/docgen/internal/mermaid"
)

// resolveFences turns fenced blocks into code and diagrams, and collects those
// that have to be run.
func (l *loading) resolveFences(p *page) {
	for block := range nodes[*ast.CodeBlock](p.Doc) {
		p.reportAt(block, "code that is only indented has no language; put it between ```text and ```")
	}
	var last *Command // the sh run before
	for fence := range nodes[*ast.FencedCodeBlock](p.Doc) {
		info := ""
		if fence.Info != nil {
			info = string(fence.Info.Segment.Value(p.Source))
		}
		var lang string
		words := strings.Fields(info)
		if len(words) > 0 {
			lang, words = words[0], words[1:]
		}
		body := blockText(fence, p.Source)
		if lang == "mermaid" {
			l.drawFence(p, fence, words, body)
			continue
		}
		code := &Code{Lang: lang, Body: body}
		replace(fence, code)
		code.SetPos(fence.Pos())
		last = p.classify(code, words, last)
	}
}

// languages are those that a fence may have, written in this way: go, sh, text,
// diff and mermaid are more than colours.
var languages = []string{"sh", "text", "go", "diff", "mermaid", "sql", "yaml", "json", "toml", "ini", "make", "markdown", "http", "html", "css", "js"}

// classify reads the words after a fence's language. It returns the command
// that a text output=run after it refers to.
func (p *page) classify(code *Code, words []string, last *Command) *Command {
	switch {
	case code.Lang == "":
		p.reportAt(code, "the fence has no language; write ```text when it has none")
	case !slices.Contains(languages, code.Lang):
		p.reportAt(code, "```%s is no language of these articles; there are %s, and ```sh for commands", code.Lang, strings.Join(languages, ", "))
	case code.Lang == "go" && len(words) == 1 && words[0] == "sketch":
		code.Sketch = true
	case code.Lang == "go":
		p.reportAt(code, "Go in an article is embedded, so that it can't drift: link to the source with the title \"embed\", or say ```go sketch for an illustration that nobody tests")
	case code.Lang == "sh" && len(words) == 1 && words[0] == "run":
		code.Run = true
		line, col := p.place(position(code))
		last = &Command{Path: p.Path, Line: line, Col: col, Script: code.Body}
		p.commands = append(p.commands, last)
		return last
	case code.Lang == "text" && len(words) == 1 && strings.HasPrefix(words[0], "output="):
		code.Output = true
		p.output(code, strings.TrimPrefix(words[0], "output="), last)
	case code.Lang == "diff" && len(words) == 1 && strings.HasPrefix(words[0], "breaks="):
		line, col := p.place(position(code))
		p.breaks = append(p.breaks, Break{Path: p.Path, Line: line, Col: col, Dir: p.Sample,
			Test: strings.TrimPrefix(words[0], "breaks="), Patch: code.Body})
	case len(words) > 0:
		p.reportAt(code, "%q after ```%s means nothing; known are sh run, text output=run, text output=TestX, go sketch and diff breaks=TestX", strings.Join(words, " "), code.Lang)
	}
	return nil
}

// output notes what a command or a test is said to print.
func (p *page) output(code *Code, of string, last *Command) {
	line, col := p.place(position(code))
	said := &Output{Line: line, Col: col, Text: code.Body}
	switch {
	case of == "run" && last == nil:
		p.reportAt(code, "text output=run has no sh run right before it; put the command there")
	case of == "run":
		last.Output = said
	case strings.HasPrefix(of, "Test"):
		said.Test = of
		p.outputs = append(p.outputs, said)
	default:
		p.reportAt(code, "output=%s; it is output=run, or output= and the name of a test of the sample", of)
	}
}

func (l *loading) drawFence(p *page, fence *ast.FencedCodeBlock, words []string, body string) {
	if len(words) > 0 {
		p.reportAt(fence, "%q after ```mermaid means nothing", strings.Join(words, " "))
	}
	p.diagrams++
	// A colon is in no heading's id.
	drawing, faults := mermaid.Draw(body, fmt.Sprintf("diagram:%d", p.diagrams))
	line, _ := p.place(position(fence))
	for _, fault := range faults {
		p.report(line+fault.Line, 1, "diagram: %s", linesBelow(line, fault.Message))
	}
	if len(faults) > 0 {
		return
	}
	diagram := &Diagram{SVG: drawing.SVG, Title: drawing.Title, Description: drawing.Description}
	replace(fence, diagram)
}

var lineNumber = regexp.MustCompile(`\bline (\d+)\b`)

// linesBelow counts the lines that a message names in the article, and not in
// the fence that begins at a line of it.
func linesBelow(fence int, message string) string {
	return lineNumber.ReplaceAllStringFunc(message, func(found string) string {
		n, _ := strconv.Atoi(strings.TrimPrefix(found, "line "))
		return "line " + strconv.Itoa(fence+n)
	})
}

// blockText is what stands in a block.
func blockText(block ast.Node, source []byte) string {
	var b strings.Builder
	lines := block.Lines()
	for i := range lines.Len() {
		segment := lines.At(i)
		b.Write(segment.Value(source))
	}
	return b.String()
}
