package site

import (
	"embed"
	"fmt"
	"html/template"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

//go:embed templates
var templateFiles embed.FS

// newTemplates parses our templates; a fault in them is one of the program.
func newTemplates(m *markdown) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"inline":     m.inline,
		"need":       book.NeedName,
		"tally":      newTally,
		"categoryID": categoryID,
		"count":      count,
	}).ParseFS(templateFiles, "templates/*.html"))
}

// page is what every page has in its head and around its content.
type page struct {
	Title       string // of the window
	OpenGraph   string // the title without the site's name
	Type        string // OpenGraph's: website or article
	Description string
	Canonical   string // nothing for the page that stands for those that are not there
	Markdown    string // the page's twin in Markdown, where there is one
	Site        string
	Repo, Rev   string
	Root        string // what links begin with; empty but for 404.html
	Here        string // index, topics or article: which link of the head is this page
	Live        bool

	assets assets
}

// newPage describes the page with this file name.
func (b *Builder) newPage(file, title, description string) page {
	window := title + " · " + siteName
	if title == siteName {
		window = siteName + ": " + siteTagline
	}
	canonical := b.absolute(file)
	if file == "index.html" {
		canonical = b.base.String()
	}
	return page{
		Title: window, OpenGraph: title, Type: "website", Description: description,
		Canonical: canonical, Site: siteName,
		Repo: b.options.Repo, Rev: b.options.Rev, Live: b.options.Live, assets: b.assets,
	}
}

// Asset is the address of an asset, as seen from the page.
func (p page) Asset(name string) (string, error) {
	path, ok := p.assets.paths[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %s", name)
	}
	return p.Root + path, nil
}

// SourceURL is the repository at the revision of the site.
func (p page) SourceURL() string {
	if p.Rev == "" {
		return p.Repo
	}
	return p.Repo + "/tree/" + p.Rev
}

// FolderURL is a folder of the repository at the revision of the site.
func (p page) FolderURL(path string) string {
	if p.Rev == "" {
		return p.Repo
	}
	return p.SourceURL() + "/" + path
}

// ShortRev is enough of the revision to recognise it.
func (p page) ShortRev() string { return p.Rev[:min(len(p.Rev), 9)] }

// count writes a number with its noun: 1 article, 2 articles.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
