package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// Breaks applies each patch, in an overlay that leaves the repository alone, and
// wants the test that it names to fail.
func Breaks(ctx context.Context, root string, tree *source.Tree, breaks []book.Break) []finding.Finding {
	var findings []finding.Finding
	for _, b := range breaks {
		if err := breaks1(ctx, root, tree, b); err != nil {
			findings = append(findings, finding.Finding{File: b.Path, Line: b.Line, Col: b.Col, Message: err.Error()})
		}
	}
	return findings
}

func breaks1(ctx context.Context, root string, tree *source.Tree, b book.Break) error {
	scratch, err := os.MkdirTemp("", "docgen-break-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	overlay, err := patched(root, scratch, tree, b.Patch)
	if err != nil {
		return err
	}
	out, err := testWith(ctx, root, overlay, b)
	top, _, _ := strings.Cut(b.Test, "/")
	switch failed := bytes.Contains(out, []byte("--- FAIL: "+top)); {
	case err == nil:
		return fmt.Errorf("with the patch %s still passes: the patch breaks nothing that the test promises", b.Test)
	case !failed:
		return fmt.Errorf("with the patch %s does not even run:\n%s", b.Test, out)
	}
	return nil
}

// patched writes the files that a patch changes to a folder, and says in an
// overlay which ones they stand for.
func patched(root, scratch string, tree *source.Tree, patch string) (overlay string, err error) {
	files, _, err := gitdiff.Parse(strings.NewReader(patch))
	if err != nil {
		return "", fmt.Errorf("the patch is no unified diff: %w", err)
	}
	if len(files) == 0 {
		return "", fmt.Errorf("the patch changes no file; begin it with --- a/path and +++ b/path")
	}
	replaced := map[string]string{}
	for i, file := range files {
		of := strings.TrimPrefix(strings.TrimPrefix(file.NewName, "b/"), "a/")
		before, err := tree.Read(of)
		if err != nil {
			return "", fmt.Errorf("the patch is for %s, which can't be read: %w", of, err)
		}
		if err := locate(file.TextFragments, before); err != nil {
			return "", fmt.Errorf("the patch does not fit %s any more: %w", of, err)
		}
		var after bytes.Buffer
		if err := gitdiff.Apply(&after, bytes.NewReader(before), file); err != nil {
			return "", fmt.Errorf("the patch does not fit %s any more: %w", of, err)
		}
		name := filepath.Join(scratch, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(name, after.Bytes(), 0o600); err != nil {
			return "", err
		}
		replaced[filepath.Join(root, filepath.FromSlash(of))] = name
	}
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(scratch, "overlay.json")
	return overlay, os.WriteFile(overlay, content, 0o600)
}

// locate moves the hunks of a patch to where their lines stand now: the lines
// above them may have become more or fewer since the patch was written.
func locate(hunks []*gitdiff.TextFragment, text []byte) error {
	lines := strings.SplitAfter(string(text), "\n")
	moved := int64(0) // of the new text against the old one, by the hunks before
	for _, hunk := range hunks {
		var old []string
		for _, line := range hunk.Lines {
			if line.Old() {
				old = append(old, line.Line)
			}
		}
		at, times := 0, 0
		for i := range len(lines) - len(old) + 1 {
			if slices.Equal(lines[i:i+len(old)], old) {
				at, times = i, times+1
			}
		}
		if times != 1 {
			return fmt.Errorf("the %d lines that begin with %q stand there %d times, not once", len(old), strings.Join(old[:min(1, len(old))], ""), times)
		}
		hunk.OldPosition = int64(at + 1)
		hunk.NewPosition = hunk.OldPosition + moved
		moved += hunk.NewLines - hunk.OldLines
	}
	return nil
}

func testWith(ctx context.Context, root, overlay string, b book.Break) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-overlay="+overlay, "-run", book.RunPattern(b.Test), "./"+b.Dir+"/...")
	cmd.Dir = root
	return cmd.CombinedOutput()
}
