package readme

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// sample is a sample's README: its problem, its command and what that prints,
// what its tests show, its files, and where to read on.
func sample(a *book.Article) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Written by make docs-gen from %s: edit that. -->\n\n# %s\n\n", a.Path, a.Title)
	up := strings.Repeat("../", strings.Count(a.Sample, "/")+1)
	relative := strings.NewReplacer("](../"+a.Sample+"/", "](", "](../"+a.Sample+")", "](.)", "](../", "]("+up)
	if problem := a.Section("overview").Paragraph; problem != "" {
		fmt.Fprintf(&b, "%s\n\n", relative.Replace(problem))
	}
	fmt.Fprintf(&b, "The article that explains it step by step: [%s](%s%s)\n", a.Title, up, a.Path)
	writeRun(&b, a)
	writeClaims(&b, a)
	if files := a.Section("complete-source-code").Table; files != "" {
		fmt.Fprintf(&b, "\n## Files\n\n%s", relative.Replace(files))
	}
	writeLinks(&b, a, up)
	return []byte(b.String())
}

func writeRun(b *strings.Builder, a *book.Article) {
	run := a.Section("running-the-example")
	if run.Command == "" {
		return
	}
	fmt.Fprintf(b, "\n## Run it\n\nFrom the root of the repository. %s\n\n```sh\n%s```\n", needed(a.Needs), run.Command)
	if run.Output != "" {
		fmt.Fprintf(b, "\n```text\n%s```\n", run.Output)
	}
}

// writeClaims writes what each test shows, and beside it the tests that the
// article leaves out.
func writeClaims(b *strings.Builder, a *book.Article) {
	b.WriteString("\n## What the tests show\n\n| Claim | Test |\n|---|---|\n")
	for _, claim := range a.Claims {
		fmt.Fprintf(b, "| %s | [`%s`](%s) |\n", cell(claim.Text), claim.Test, within(a.Sample, claim.Path))
	}
	if len(a.Unshown) > 0 {
		b.WriteString("\nTests that the article does not show:\n\n")
	}
	for _, test := range slices.Sorted(maps.Keys(a.Unshown)) {
		fmt.Fprintf(b, "- `%s`: %s\n", test, strings.Join(strings.Fields(a.Unshown[test]), " "))
	}
}

// within is a path as seen from a folder.
func within(folder, file string) string {
	if rest, ok := strings.CutPrefix(file, folder+"/"); ok {
		return rest
	}
	return path.Join(strings.Repeat("../", strings.Count(folder, "/")+1), file)
}

func writeLinks(b *strings.Builder, a *book.Article, up string) {
	b.WriteString("\n## Read on\n\n")
	for _, before := range a.After {
		fmt.Fprintf(b, "- Read before: [%s](%s%s)\n", before.Title, up, before.Path)
	}
	fmt.Fprintf(b, "- [What the primitives promise](%srelay/doc.go)\n- [All samples](%sREADME.md#the-samples)\n", up, up)
}
