// Package site renders a book into the files of a static site.
//
// All pages lie at the site's root, and everything in them is relative, so that
// the site works at any depth of a server and from disk. The exception is
// 404.html: a server sends it for paths of any depth, so its links begin with
// the path of the base URL.
//
// No page holds a style or a script of its own, and none loads anything from
// elsewhere: the content security policy in each head would refuse it.
package site

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// What the site says of itself, on its pages and to machines.
const (
	siteName    = "Relay"
	siteTagline = "What to do when a service runs on more than one machine"
	siteSummary = "Runnable samples, in Go, about services that run on more than one machine: locks, leader election, leases with fencing tokens, membership and partitioning."
)

// Options are what a build knows beside the book.
type Options struct {
	BaseURL *url.URL // where the site will lie; a path in it ends with a slash, or is given one
	Rev     string   // the revision that links to the source name
	Repo    string   // https://github.com/relay-samples/relay-go
	Live    bool     // adds the script that reloads a page when docgen serve has built it again
}

// Builder renders books. It keeps the pages of the last one, and renders again
// only what has changed since. It is not safe for concurrent use.
type Builder struct {
	options   Options
	base      url.URL // with a path that ends with a slash
	assets    assets
	templates *template.Template
	markdown  *markdown
	sizes     imageSizes // of the last book's images, which its pages tell the browser
	kept      map[*book.Article]keptPage
}

// keptPage is a page of the last build, and what it was made from beside its
// article.
type keptPage struct {
	around around
	page   []byte
	lines  []section // for the search
}

// New returns a Builder that has rendered nothing yet.
func New(o Options) *Builder {
	b := &Builder{options: o, assets: newAssets(o.Live), sizes: imageSizes{}}
	if o.BaseURL != nil {
		b.base = *o.BaseURL
		b.base.RawQuery, b.base.Fragment = "", ""
		b.base.Path = strings.TrimSuffix(b.base.Path, "/") + "/"
	}
	b.markdown = newMarkdown()
	b.templates = newTemplates(b.markdown)
	return b
}

// Build returns the site's files by their paths in it. The same book gives the
// same bytes, whatever the Builder has built before.
func (b *Builder) Build(bk *book.Book) (map[string][]byte, error) {
	if !b.base.IsAbs() || b.base.Host == "" {
		return nil, errors.New("the site's base URL is missing or not absolute; give one such as https://example.org/relay/")
	}
	sizes := measureImages(bk.Images)
	if !maps.Equal(sizes, b.sizes) {
		b.kept = nil
	}
	b.sizes, b.markdown.images.sizes = sizes, sizes

	order := readingOrder(bk.Articles)
	kept, err := b.articlePages(order)
	if err != nil {
		return nil, err
	}
	b.kept = kept

	files := maps.Clone(b.assets.files)
	maps.Copy(files, bk.Images)
	for _, a := range order {
		files[pageOf(a)] = kept[a].page
		files[a.Slug+".md"] = a.Markdown
	}
	if err := b.otherFiles(files, bk, order); err != nil {
		return nil, err
	}
	return files, nil
}

// articlePages takes the pages that nothing has changed for from the last build,
// and renders the others.
func (b *Builder) articlePages(order []*book.Article) (map[*book.Article]keptPage, error) {
	pages := make(map[*book.Article]keptPage, len(order))
	for i, a := range order {
		around := newAround(order, i)
		if old, ok := b.kept[a]; ok && old.around.equal(around) {
			pages[a] = old
			continue
		}
		page, err := b.articlePage(a, around)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path, err)
		}
		pages[a] = keptPage{around, page, sectionsOf(a)}
	}
	return pages, nil
}

// otherFiles adds everything that is made from the book as a whole.
func (b *Builder) otherFiles(files map[string][]byte, bk *book.Book, order []*book.Article) error {
	var sections []section
	for _, a := range order {
		sections = append(sections, b.kept[a].lines...)
	}
	for _, other := range []struct {
		path   string
		render func() ([]byte, error)
	}{
		{"index.html", func() ([]byte, error) { return b.indexPage(order) }},
		{"topics.html", func() ([]byte, error) { return b.topicsPage(bk.Topics) }},
		{"404.html", b.notFoundPage},
		{"search.json", func() ([]byte, error) { return searchIndex(order, sections, bk.Topics, b.options.Live) }},
		{"feed.xml", func() ([]byte, error) { return b.feed(order) }},
		{"sitemap.xml", func() ([]byte, error) { return b.sitemap(order) }},
		{"robots.txt", b.robots},
		{"llms.txt", func() ([]byte, error) { return b.llms(order) }},
	} {
		file, err := other.render()
		if err != nil {
			return fmt.Errorf("%s: %w", other.path, err)
		}
		files[other.path] = file
	}
	return nil
}

// absolute is the address that a file of the site will have.
func (b *Builder) absolute(path string) string {
	return b.base.ResolveReference(&url.URL{Path: path}).String()
}

func pageOf(a *book.Article) string { return a.Slug + ".html" }

// execute renders a template of ours.
func (b *Builder) execute(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	if err := b.templates.ExecuteTemplate(&out, name, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
