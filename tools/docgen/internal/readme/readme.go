// Package readme writes what is generated from the articles beside the site: the
// index in the README, and a README for each sample.
package readme

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

const (
	readme = "README.md"
	begin  = "<!-- docgen:begin samples -->\n"
	end    = "<!-- docgen:end samples -->\n"
)

// Files are the generated files, by path. With findings there are none.
func Files(b *book.Book, tree *source.Tree) (map[string][]byte, []finding.Finding) {
	text, err := tree.Read(readme)
	if err != nil {
		return nil, []finding.Finding{{File: readme, Message: err.Error()}}
	}
	index, err := withIndex(text, b)
	if err != nil {
		return nil, []finding.Finding{{File: readme, Message: err.Error()}}
	}
	files := map[string][]byte{readme: index}
	var findings []finding.Finding
	for _, a := range b.Articles {
		content, found := sample(a, tree)
		files[path.Join(a.Sample, readme)] = content
		findings = append(findings, found...)
	}
	if len(findings) > 0 {
		return nil, findings
	}
	return files, nil
}

// Check wants the files in the repository to be those that are generated.
func Check(b *book.Book, tree *source.Tree) []finding.Finding {
	files, findings := Files(b, tree)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text, err := tree.Read(name); err != nil || !bytes.Equal(text, files[name]) {
			findings = append(findings, finding.Finding{File: name, Line: firstDifference(text, files[name]),
				Message: "this is not what the articles say now; run make docs-gen"})
		}
	}
	return findings
}

func firstDifference(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return bytes.Count(a[:n], []byte("\n")) + 1
}

// withIndex puts the table of samples between its two markers.
func withIndex(text []byte, b *book.Book) ([]byte, error) {
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return nil, fmt.Errorf("the README has no lines %s and %s, between which the samples are listed", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	var table strings.Builder
	table.WriteString("| Sample | Article | Needs |\n|---|---|---|\n")
	for _, a := range b.Articles {
		fmt.Fprintf(&table, "| [%s](%s) | [%s](%s). %s | %s |\n", a.Slug, a.Sample, cell(a.Title), a.Path, cell(a.Summary), column(a.Needs))
	}
	return []byte(before + begin + table.String() + end + after), nil
}

// listed are the names of what a sample's tests need beside Go.
func listed(needs []string) string {
	var said []string
	for _, need := range needs {
		said = append(said, book.NeedName(need))
	}
	return strings.Join(said, ", ")
}

// needed says what the tests need, in a sentence.
func needed(needs []string) string {
	if len(needs) == 0 {
		return "Go is all it needs."
	}
	return "Tests that need " + listed(needs) + " are skipped, and say so, where there is none."
}

// column says it in a table's cell.
func column(needs []string) string {
	if len(needs) == 0 {
		return "Go"
	}
	return "Go; " + listed(needs) + " for some tests"
}
