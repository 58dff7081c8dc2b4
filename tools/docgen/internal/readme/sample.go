package readme

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// sample is a sample's README: its problem, its command and what that prints,
// what its tests show, its files, and where to read on.
func sample(a *book.Article, tree *source.Tree) ([]byte, []finding.Finding) {
	var b strings.Builder
	m := newMove(a, tree)
	title := inline(a.Title)
	fmt.Fprintf(&b, "<!-- Written by make docs-gen from %s: edit that. -->\n\n# %s\n\n", a.Path, title)
	if problem := a.Section("overview").Paragraph; problem != "" {
		fmt.Fprintf(&b, "%s\n\n", m.part(problem))
	}
	fmt.Fprintf(&b, "The article that explains it step by step: [%s](%s)\n", title, within(a.Sample, a.Path))
	writeRun(&b, a)
	writeClaims(&b, a)
	if files := a.Section("complete-source-code").Table; files != "" {
		fmt.Fprintf(&b, "\n## Files\n\n%s", m.part(files))
	}
	writeLinks(&b, a)
	return []byte(b.String()), m.findings
}

func writeRun(b *strings.Builder, a *book.Article) {
	run := a.Section("running-the-example")
	if run.Command == "" {
		return
	}
	fmt.Fprintf(b, "\n## Run it\n\nFrom the root of the repository. %s\n\n%s", needed(a.Needs), fenced("sh", run.Command))
	if run.Output != "" {
		fmt.Fprintf(b, "\n%s", fenced("text", run.Output))
	}
}

// writeClaims writes what each test shows, and beside it the tests that the
// article leaves out.
func writeClaims(b *strings.Builder, a *book.Article) {
	b.WriteString("\n## What the tests show\n\n| Claim | Test |\n|---|---|\n")
	for _, claim := range a.Claims {
		fmt.Fprintf(b, "| %s | [%s](%s) |\n", cell(claim.Text), code(claim.Test), within(a.Sample, claim.Path))
	}
	if len(a.Unshown) > 0 {
		b.WriteString("\nTests that the article does not show:\n\n")
	}
	for _, test := range slices.Sorted(maps.Keys(a.Unshown)) {
		fmt.Fprintf(b, "- `%s`: %s\n", test, inline(a.Unshown[test]))
	}
}

func writeLinks(b *strings.Builder, a *book.Article) {
	b.WriteString("\n## Read on\n\n")
	for _, before := range a.After {
		fmt.Fprintf(b, "- Read before: [%s](%s)\n", inline(before.Title), within(a.Sample, before.Path))
	}
	fmt.Fprintf(b, "- [What the primitives promise](%s)\n- [All samples](%s#the-samples)\n",
		within(a.Sample, "relay/doc.go"), within(a.Sample, readme))
}

// fenced is a block whose fence is longer than any in it.
func fenced(lang, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + lang + "\n" + text + fence + "\n"
}
