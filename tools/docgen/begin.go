package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed skeleton
var skeleton embed.FS

var slugLike = regexp.MustCompile(`^\d{3}-[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// begin writes an article and a sample to begin with. Its one test fails, and so
// does the check of the article, until both say what the sample guarantees.
func begin(_ context.Context, c *call) error {
	if err := c.parse(1); err != nil {
		return err
	}
	slug := c.flags.Arg(0)
	if !slugLike.MatchString(slug) {
		return c.misuse("%q is no name for a sample; it is a number of three digits and lower-case words, such as 107-rate-limits", slug)
	}
	s := newSample(slug)
	if trouble := packageTrouble(s.Package); trouble != "" {
		return c.misuse("%q gives the package the name %s, which is %s; choose other words", slug, s.Package, trouble)
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	if err := create(c.root, files); err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintln(c.stdout, f.name)
	}
	fmt.Fprintf(c.stdout, `
next:
  1. write the test, and see it pass: go test ./samples/%s
  2. write the article; tools/docgen/README.md has the syntax
  3. add a row for each thing that it teaches to articles/topics.tsv
  4. make docs-gen    writes the index in README.md, and the sample's README
  5. make docs-check  says what is wrong
  6. make serve       shows the page, and each change to it
`, slug)
	return nil
}

// begun is a sample to begin with.
type begun struct{ Slug, Number, Package, Title, Test, TestFile string }

func newSample(slug string) begun {
	words := strings.Split(slug, "-")[1:]
	first := strings.ToUpper(words[0][:1]) + words[0][1:]
	name := strings.Join(words, "")
	return begun{
		Slug: slug, Number: slug[:3], Package: name,
		Title: strings.Join(append([]string{first}, words[1:]...), " "),
		Test:  "Test" + first + "_SaysWhatItGuarantees",
		// The package's name has no underscore, so the file's can't end in one and
		// the name of a system, as in on_windows_test.go, which other systems skip.
		TestFile: name + "_test.go",
	}
}

// packageTrouble says why a package can't have a name, or nothing.
func packageTrouble(name string) string {
	switch {
	case token.IsKeyword(name):
		return "a keyword of Go"
	case types.Universe.Lookup(name) != nil:
		return "a name that Go has declared"
	case slices.Contains([]string{"main", "init", "documentation"}, name):
		return "a name with a meaning of its own for the go command"
	}
	return ""
}

// newFile is a file to be written.
type newFile struct {
	name    string
	content []byte
}

// files are those of the sample, in the order in which they are shown.
func (s begun) files() ([]newFile, error) {
	files := []newFile{
		{name: path.Join("articles", s.Slug+".md")},
		{name: path.Join("samples", s.Slug, "doc.go")},
		{name: path.Join("samples", s.Slug, s.TestFile)},
	}
	for i, from := range []string{"article.md.tmpl", "doc.go.tmpl", "test.go.tmpl"} {
		t, err := template.ParseFS(skeleton, "skeleton/"+from)
		if err != nil {
			return nil, err
		}
		var content bytes.Buffer
		if err := t.Execute(&content, s); err != nil {
			return nil, err
		}
		files[i].content = content.Bytes()
	}
	return files, nil
}

// create writes files that are not there yet: all of them, or none. It writes
// through os.Root: no symbolic link leads it out of the repository.
func create(dir string, files []newFile) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, f := range files {
		if _, err := root.Lstat(f.name); err == nil {
			return fmt.Errorf("%s exists; nothing was written", f.name)
		}
	}
	var made []string
	for _, f := range files {
		if err := createOne(root, f, &made); err != nil {
			for _, name := range slices.Backward(made) {
				err = errors.Join(err, root.Remove(name))
			}
			return fmt.Errorf("%s can't be written, and nothing was: %w", f.name, err)
		}
	}
	return nil
}

// createOne notes in made what is there afterwards and was not before.
func createOne(root *os.Root, f newFile, made *[]string) error {
	folder := path.Dir(f.name)
	if _, err := root.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		if err := root.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		*made = append(*made, folder)
	}
	file, err := root.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	*made = append(*made, f.name)
	_, err = file.Write(f.content)
	return errors.Join(err, file.Close())
}
