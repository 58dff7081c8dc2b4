package prove

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// Fit wants each patch to fit the files that it is for. It runs nothing, so it
// can be asked after every edit; that the test fails then is for Breaks to see.
func Fit(tree *source.Tree, breaks []book.Break) []finding.Finding {
	var findings []finding.Finding
	for _, b := range breaks {
		if _, err := patched(tree, b.Patch); err != nil {
			findings = append(findings, at(b, err))
		}
	}
	return findings
}

func at(b book.Break, err error) finding.Finding {
	return finding.Finding{File: b.Path, Line: b.Line, Col: b.Col, Message: err.Error()}
}

// patched are the files that a patch changes, as it leaves them.
func patched(tree *source.Tree, patch string) (map[string][]byte, error) {
	files, _, err := gitdiff.Parse(strings.NewReader(patch))
	if err != nil {
		return nil, fmt.Errorf("the patch is no unified diff: %s", strings.TrimPrefix(err.Error(), "gitdiff: "))
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the patch changes no file; begin it with --- a/path and +++ b/path")
	}
	after := map[string][]byte{}
	for _, file := range files {
		if file.IsNew || file.IsDelete || file.IsRename || file.IsCopy || file.IsBinary {
			return nil, fmt.Errorf("the patch adds, removes or renames a file; let it change lines of files that there are")
		}
		of := strings.TrimPrefix(file.NewName, "b/")
		if _, twice := after[of]; twice {
			return nil, fmt.Errorf("the patch is twice for %s; put its hunks together", of)
		}
		if after[of], err = apply(tree, of, file); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// apply is a file with its hunks applied, wherever their lines stand now.
func apply(tree *source.Tree, of string, file *gitdiff.File) ([]byte, error) {
	before, err := tree.Read(of)
	if err != nil {
		return nil, fmt.Errorf("the patch is for %s, which can't be read: %w", of, err)
	}
	if err := locate(file.TextFragments, before); err != nil {
		return nil, fmt.Errorf("the patch does not fit %s any more: %w", of, err)
	}
	var after bytes.Buffer
	if err := gitdiff.Apply(&after, bytes.NewReader(before), file); err != nil {
		return nil, fmt.Errorf("the patch does not fit %s any more: %w", of, err)
	}
	return after.Bytes(), nil
}

// locate moves the hunks of a patch to where their lines stand now: the lines
// above them may have become more or fewer since the patch was written.
func locate(hunks []*gitdiff.TextFragment, text []byte) error {
	lines := strings.SplitAfter(string(text), "\n")
	moved := int64(0) // of the new text against the old one, by the hunks before
	for i, hunk := range hunks {
		header := strings.TrimSpace(hunk.Header())
		var old []string
		for _, line := range hunk.Lines {
			if line.Old() {
				old = append(old, line.Line)
			}
		}
		if len(old) == 0 {
			return fmt.Errorf("hunk %d (%s) has no line of the file, so its place can't be found; give it some around", i+1, header)
		}
		at, times := 0, 0
		for i := range len(lines) - len(old) + 1 {
			if slices.Equal(lines[i:i+len(old)], old) {
				at, times = i, times+1
			}
		}
		if times != 1 {
			return fmt.Errorf("the lines of hunk %d (%s), which begin with %q, stand there %d times, not once",
				i+1, header, strings.TrimSuffix(old[0], "\n"), times)
		}
		hunk.OldPosition = int64(at + 1)
		hunk.NewPosition = hunk.OldPosition + moved
		moved += hunk.NewLines - hunk.OldLines
	}
	return nil
}
