package site

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"slices"
	"time"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

type atomFeed struct {
	XMLName  xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Title    string      `xml:"title"`
	Subtitle string      `xml:"subtitle"`
	ID       string      `xml:"id"`
	Links    []atomLink  `xml:"link"`
	Updated  string      `xml:"updated"`
	Author   atomAuthor  `xml:"author"`
	Entries  []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
	Type string `xml:"type,attr,omitempty"`
}

type atomAuthor struct {
	Name string `xml:"name"`
}

type atomEntry struct {
	Title   string   `xml:"title"`
	ID      string   `xml:"id"`
	Link    atomLink `xml:"link"`
	Updated string   `xml:"updated"`
	Summary string   `xml:"summary"`
}

// feed is the Atom feed, the newest first. An article that has no date, since it
// was never committed, is not news yet.
func (b *Builder) feed(order []*book.Article) ([]byte, error) {
	dated := slices.DeleteFunc(slices.Clone(order), func(a *book.Article) bool { return a.Updated.IsZero() })
	slices.SortStableFunc(dated, func(x, y *book.Article) int {
		return cmp.Or(y.Updated.Compare(x.Updated), cmp.Compare(x.Slug, y.Slug))
	})
	f := atomFeed{
		Title: siteName, Subtitle: siteSummary, ID: b.base.String(),
		Author: atomAuthor{siteName},
		Links: []atomLink{
			{Rel: "self", Href: b.absolute("feed.xml"), Type: "application/atom+xml"},
			{Rel: "alternate", Href: b.base.String(), Type: "text/html"},
		},
		Updated: atomTime(time.Unix(0, 0)), // Atom wants a time, also of a feed without entries
	}
	for i, a := range dated {
		if i == 0 {
			f.Updated = atomTime(a.Updated)
		}
		address := b.absolute(pageOf(a))
		f.Entries = append(f.Entries, atomEntry{
			Title: a.Title, ID: address, Updated: atomTime(a.Updated), Summary: a.Summary,
			Link: atomLink{Rel: "alternate", Href: address, Type: "text/html"},
		})
	}
	return marshalXML(f)
}

func atomTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func marshalXML(v any) ([]byte, error) {
	body, err := xml.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(bytes.Join([][]byte{[]byte(xml.Header), body}, nil), '\n'), nil
}
