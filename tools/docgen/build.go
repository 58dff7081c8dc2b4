package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/site"
)

// build writes the site. With findings it writes nothing.
func build(ctx context.Context, c *call) error {
	out := c.flags.String("o", "site", "the `folder` to write to; what it held of an earlier build goes")
	base := c.flags.String("base-url", "", "the `URL` that the site will have, such as https://example.org/relay/")
	rev := c.flags.String("rev", "", "the `commit` that links to the source lead to")
	tests := c.flags.String("tests", "", "the recorded `results` (docgen record)")
	if err := c.parse(0); err != nil {
		return err
	}
	baseURL, err := parseBase(*base)
	if err != nil {
		return c.misuse("%v", err)
	}
	if *rev == "" {
		return c.misuse("-rev is missing: the commit that links to the source lead to, such as main")
	}
	p, b, err := c.load(ctx, *rev, *tests)
	if err != nil {
		return err
	}
	defer p.tree.Close()
	if err := c.print(b.Findings); err != nil {
		return err
	}
	files, err := site.New(site.Options{BaseURL: baseURL, Rev: *rev, Repo: p.options.Repo}).Build(b)
	if err != nil {
		return err
	}
	if err := write(*out, files); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%d articles, %d files in %s\n", len(b.Articles), len(files), *out)
	return nil
}

func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("-base-url %q is not the address of a site, such as https://example.org/relay/", base)
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u, nil
}

// mark is the file by which a folder is known to be a site that docgen wrote.
const mark = ".docgen"

// write puts the files into a folder, in the place of an earlier build. A folder
// that holds anything else is left alone.
func write(out string, files map[string][]byte) error {
	entries, err := os.ReadDir(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, mark)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s holds something that docgen did not write; name another folder, or empty it", out)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(out, entry.Name())); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, mark), nil, 0o644); err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
