package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed skeleton
var skeleton embed.FS

var slugLike = regexp.MustCompile(`^\d{3}-[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// begin writes an article and a sample to begin with. Its one test fails until
// it says what the sample guarantees.
func begin(_ context.Context, c *call) error {
	if err := c.parse(1); err != nil {
		return err
	}
	slug := c.flags.Arg(0)
	if !slugLike.MatchString(slug) {
		return c.misuse("%q is no name for a sample; it is a number of three digits and lower-case words, such as 107-rate-limits", slug)
	}
	words := strings.Split(slug, "-")[1:]
	data := map[string]string{
		"Slug":    slug,
		"Number":  slug[:3],
		"Package": strings.Join(words, ""),
		"Title":   strings.ToUpper(words[0][:1]) + strings.Join(words, " ")[1:],
		"Test":    "Test" + strings.ToUpper(words[0][:1]) + words[0][1:] + "_SaysWhatItGuarantees",
	}
	files := map[string]string{
		"article.md.tmpl": path.Join("articles", slug+".md"),
		"doc.go.tmpl":     path.Join("samples", slug, "doc.go"),
		"test.go.tmpl":    path.Join("samples", slug, strings.ReplaceAll(strings.Join(words, "_"), "-", "_")+"_test.go"),
	}
	data["TestFile"] = path.Base(files["test.go.tmpl"])
	for _, to := range files {
		if _, err := os.Stat(filepath.Join(c.root, to)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists; nothing was written", to)
		}
	}
	for from, to := range files {
		if err := writeTemplate(filepath.Join(c.root, filepath.FromSlash(to)), from, data); err != nil {
			return err
		}
		fmt.Fprintln(c.stdout, to)
	}
	fmt.Fprintf(c.stdout, "now write the test and the article; then make docs-gen, and make docs-check\n")
	return nil
}

func writeTemplate(to, from string, data map[string]string) error {
	t, err := template.ParseFS(skeleton, "skeleton/"+from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = t.Execute(file, data)
	return errors.Join(err, file.Close())
}
