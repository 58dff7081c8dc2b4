package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
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
	switch {
	case err != nil:
		return c.misuse("%v", err)
	case *out == "":
		return c.misuse("-o is empty: the folder to write to, such as site")
	case *rev == "":
		return c.misuse("-rev is missing: the commit that links to the source lead to, such as main")
	case !revision.MatchString(*rev) || strings.Contains(*rev, ".."):
		return c.misuse("-rev %q is no name of a commit, such as main or 16557e9", *rev)
	}
	p, b, err := c.load(ctx, *rev, *tests)
	if err != nil {
		return err
	}
	defer p.tree.Close()
	if err := c.printInstead(b.Findings); err != nil {
		return err
	}
	files, err := site.New(site.Options{BaseURL: baseURL, Rev: *rev, Repo: p.options.Repo}).Build(b)
	if err != nil {
		return err
	}
	if err := write(*out, files); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s, %s in %s", counted(len(b.Articles), "article"), counted(len(files), "file"), *out)
	if p.options.Results != nil {
		fmt.Fprintf(c.stdout, "; tests: %s", ended(b))
	}
	fmt.Fprintln(c.stdout)
	return nil
}

func counted(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}

// ended says how the tests of all samples did.
func ended(b *book.Book) string {
	var sum results.Tally
	for _, a := range b.Articles {
		sum.Passed += a.Tests.Passed
		sum.Failed += a.Tests.Failed
		sum.Skipped += a.Tests.Skipped
		sum.NotRun += a.Tests.NotRun
	}
	said := fmt.Sprintf("%d passed", sum.Passed)
	for _, other := range []struct {
		count int
		how   string
	}{{sum.Skipped, "skipped"}, {sum.Failed, "failed"}, {sum.NotRun, "not run"}} {
		if other.count > 0 {
			said += fmt.Sprintf(", %d %s", other.count, other.how)
		}
	}
	return said
}

// revision is what git takes for the name of a commit, and an address as it is.
var revision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]*$`)

func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || !isHost(u) || u.User != nil ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		strings.Contains(u.Path, "//") || path.Clean("/"+u.Path) != "/"+strings.Trim(u.Path, "/") {
		return nil, fmt.Errorf("-base-url %q is not the address of a site, such as https://example.org/relay/", base)
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u, nil
}

// isHost tells whether an address has a name, and a port that there can be.
func isHost(u *url.URL) bool {
	if u.Hostname() == "" || strings.HasSuffix(u.Host, ":") {
		return false
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && port > 0
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
