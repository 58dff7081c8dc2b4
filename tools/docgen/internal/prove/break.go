package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// Breaks applies each patch, in an overlay that leaves the repository alone, and
// wants the test that it names to fail. A test that is skipped here, for want of
// a server say, neither fails nor passes: its patch is untried. When ctx ends it
// stops early, and what it has not tried is no finding.
func Breaks(ctx context.Context, root string, tree *source.Tree, breaks []book.Break) (findings, untried []finding.Finding) {
	for _, b := range breaks {
		err := tryBreak(ctx, root, tree, b)
		switch {
		case ctx.Err() != nil:
			return findings, untried
		case errors.Is(err, errSkipped):
			untried = append(untried, at(b, fmt.Errorf("%w: nobody knows whether the patch breaks %s", err, b.Test)))
		case err != nil:
			findings = append(findings, at(b, err))
		}
	}
	return findings, untried
}

var errSkipped = errors.New("the test is skipped here")

func tryBreak(ctx context.Context, root string, tree *source.Tree, b book.Break) error {
	files, err := patched(tree, b.Patch)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "docgen-break-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	overlay, err := writeOverlay(root, scratch, files)
	if err != nil {
		return err
	}
	out, err := testWith(ctx, root, overlay, b)
	top, _, _ := strings.Cut(b.Test, "/")
	switch {
	case err == nil && strings.Contains(out, "--- SKIP: "+top):
		return errSkipped
	case err == nil:
		return fmt.Errorf("with the patch %s still passes: the patch breaks nothing that the test promises", b.Test)
	case !strings.Contains(out, "--- FAIL: "+top):
		return fmt.Errorf("with the patch %s does not even run (%w):\n%s", b.Test, err, out)
	}
	return nil
}

// writeOverlay writes the files to a folder, and says in an overlay which ones
// they stand for.
func writeOverlay(root, scratch string, files map[string][]byte) (overlay string, err error) {
	replaced := map[string]string{}
	for i, of := range slices.Sorted(maps.Keys(files)) {
		name := filepath.Join(scratch, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(name, files[of], 0o600); err != nil {
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

// testPatience is how long a patched test may run: less than patience, so that
// go test ends a test that hangs by itself, and says where it hung.
const testPatience = patience - time.Minute

func testWith(ctx context.Context, root, overlay string, b book.Break) (string, error) {
	return output(ctx, root, "go", "test", "-v", "-count=1", "-timeout="+testPatience.String(), "-overlay="+overlay,
		"-run", book.RunPattern(b.Test), "./"+b.Dir+"/...")
}
