package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// project is the repository that docgen works on.
type project struct {
	root    string
	tree    *source.Tree
	loader  *book.Loader
	options book.Options
	loaded  fs.FileInfo // the results' file, as it was when it was read
}

// findRoot goes up to the folder with the articles.
func findRoot() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if info, err := os.Stat(filepath.Join(at, "articles")); err == nil && info.IsDir() {
			if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
				return at, nil
			}
		}
		if filepath.Dir(at) == at {
			return "", errors.New("there is no folder with articles and go.mod here or above; name it with -root")
		}
		at = filepath.Dir(at)
	}
}

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)`)

// open opens the repository. The results' file may be missing from the call, but
// not from the disk.
func open(ctx context.Context, root, rev, resultsFile string) (*project, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	tree, err := source.Open(root)
	if err != nil {
		return nil, err
	}
	mod, err := tree.Read("go.mod")
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	module := moduleLine.FindSubmatch(mod)
	if module == nil {
		return nil, errors.Join(errors.New("go.mod names no module"), tree.Close())
	}
	p := &project{root: root, tree: tree, loader: book.NewLoader(tree), options: book.Options{
		Module: string(module[1]), Repo: "https://" + string(module[1]), Rev: rev, From: resultsFile,
	}}
	p.options.Updated = p.dates(ctx)
	switch err := p.reload(); {
	case err != nil:
		return nil, errors.Join(err, tree.Close())
	case p.options.Results == nil && resultsFile != "":
		return nil, errors.Join(fmt.Errorf("there are no results at %s; docgen record -o %s records them", resultsFile, resultsFile), tree.Close())
	}
	return p, nil
}

// reload reads the results unless their file is the one that was read before. A
// file that is gone is one in which nothing is recorded.
func (p *project) reload() error {
	if p.options.From == "" {
		return nil
	}
	info, err := os.Stat(p.options.From)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.options.Results, p.loaded = nil, nil
		return nil
	case err != nil:
		return err
	case p.loaded != nil && os.SameFile(info, p.loaded) && info.ModTime().Equal(p.loaded.ModTime()) && info.Size() == p.loaded.Size():
		return nil
	}
	set, err := load(p.options.From)
	if err != nil {
		return err
	}
	p.options.Results, p.loaded = set, info
	return nil
}

func load(resultsFile string) (*results.Set, error) {
	file, err := os.Open(resultsFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	set, err := results.Load(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", resultsFile, err)
	}
	return set, nil
}

// dates are the days on which the articles last changed: by git, or where there
// is none by the files.
func (p *project) dates(ctx context.Context) map[string]time.Time {
	dates := map[string]time.Time{}
	git := exec.CommandContext(ctx, "git", "log", "--format=%x00%cI", "--name-only", "--", "articles")
	git.Dir = p.root
	if out, err := git.Output(); err == nil {
		for _, commit := range strings.Split(string(out), "\x00") {
			lines := strings.Split(strings.TrimSpace(commit), "\n")
			when, err := time.Parse(time.RFC3339, lines[0])
			if err != nil {
				continue
			}
			for _, file := range lines[1:] {
				if _, later := dates[file]; file != "" && !later {
					dates[file] = when.UTC()
				}
			}
		}
	}
	files, err := p.tree.Files("articles")
	if err != nil {
		return dates
	}
	for _, file := range files {
		if _, known := dates[file]; known {
			continue
		}
		if info, err := p.tree.Stat(file); err == nil {
			dates[file] = info.ModTime().UTC().Truncate(time.Second)
		}
	}
	return dates
}

// load opens the repository and reads the book.
func (c *call) load(ctx context.Context, rev, resultsFile string) (*project, *book.Book, error) {
	p, err := open(ctx, c.root, rev, resultsFile)
	if err != nil {
		return nil, nil, err
	}
	b, err := p.loader.Load(p.options)
	if err != nil {
		return nil, nil, errors.Join(err, p.tree.Close())
	}
	return p, b, nil
}

// print prints findings, and is an error when there are any.
func (c *call) print(findings []finding.Finding) error {
	for _, f := range findings {
		fmt.Fprintln(c.stdout, f)
	}
	if len(findings) > 0 {
		return errFindings
	}
	return nil
}

// printInstead is print of a verb that writes files, which it doesn't then.
func (c *call) printInstead(findings []finding.Finding) error {
	err := c.print(findings)
	if err != nil {
		fmt.Fprintln(c.stderr, "nothing was written")
	}
	return err
}
