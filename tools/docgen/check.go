package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/prove"
	"github.com/relay-samples/relay-go/tools/docgen/internal/readme"
)

// check looks for everything that can be wrong without writing anything: in the
// articles, in what is generated from them, and in the commands they show.
func check(ctx context.Context, c *call) error {
	tests := c.flags.String("tests", "", "the recorded `results` (docgen record)")
	if err := c.parse(0); err != nil {
		return err
	}
	p, b, err := c.load(ctx, "main", *tests)
	if err != nil {
		return err
	}
	defer p.tree.Close()
	found := append(b.Findings, readme.Check(b, p.tree)...)
	found = append(found, prove.Commands(ctx, p.root, b.Commands)...)
	if err := c.print(finding.Sort(found)); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%d articles, nothing found\n", len(b.Articles))
	return nil
}

// gen writes what is generated from the articles into the repository.
func gen(ctx context.Context, c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	p, b, err := c.load(ctx, "main", "")
	if err != nil {
		return err
	}
	defer p.tree.Close()
	if err := c.print(b.Findings); err != nil {
		return err
	}
	files, err := readme.Files(b, p.tree)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(p.root, filepath.FromSlash(name)), files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
