package site

import (
	"bytes"
	"encoding/xml"
	"fmt"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

type urlSet struct {
	XMLName xml.Name     `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	URLs    []sitemapURL `xml:"url"`
}

type sitemapURL struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod,omitempty"`
}

// sitemap lists the pages by the addresses that they call canonical.
func (b *Builder) sitemap(order []*book.Article) ([]byte, error) {
	set := urlSet{URLs: []sitemapURL{{Loc: b.base.String()}, {Loc: b.absolute("topics.html")}}}
	for _, a := range order {
		u := sitemapURL{Loc: b.absolute(pageOf(a))}
		if !a.Updated.IsZero() {
			u.LastMod = a.Updated.UTC().Format("2006-01-02")
		}
		set.URLs = append(set.URLs, u)
	}
	return marshalXML(set)
}

// robots lets everybody read everything.
func (b *Builder) robots() ([]byte, error) {
	return fmt.Appendf(nil, "User-agent: *\nAllow: /\n\nSitemap: %s\n", b.absolute("sitemap.xml")), nil
}

// llms is what a language model is told of the site: the pages in Markdown.
func (b *Builder) llms(order []*book.Article) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n\n> %s\n\n", siteName, siteSummary)
	fmt.Fprintf(&out, "Each page is an article whose code is cut out of tests that run; the page in Markdown has that code in place.\nThe source: %s\n", b.options.Repo)
	for _, c := range byCategory(order) {
		fmt.Fprintf(&out, "\n## %s\n\n", c.Name)
		for _, a := range c.Articles {
			fmt.Fprintf(&out, "- [%s](%s): %s\n", a.Title, b.absolute(a.Slug+".md"), a.Summary)
		}
	}
	return out.Bytes(), nil
}
