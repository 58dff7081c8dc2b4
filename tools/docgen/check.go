package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
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
	found := append(b.Findings, prove.Fit(p.tree, b.Breaks)...)
	if len(b.Findings) == 0 { // what follows from a fault in an article is no fault of its own
		found = append(found, readme.Check(b, p.tree)...)
		found = append(found, prove.Commands(ctx, p.root, b.Commands)...)
	}
	if err := errors.Join(c.print(finding.Sort(found)), ctx.Err()); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s, nothing found\n", counted(len(b.Articles), "article"))
	return nil
}

// gen writes what is generated from the articles into the repository.
func gen(ctx context.Context, c *call) (err error) {
	if err := c.parse(0); err != nil {
		return err
	}
	p, b, err := c.load(ctx, "main", "")
	if err != nil {
		return err
	}
	defer p.tree.Close()
	if err := c.printInstead(b.Findings); err != nil {
		return err
	}
	files, found := readme.Files(b, p.tree)
	if err := c.printInstead(found); err != nil {
		return err
	}
	// Through os.Root: no symbolic link leads a write out of the repository.
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := root.WriteFile(name, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
