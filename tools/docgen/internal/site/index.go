package site

import "github.com/relay-samples/relay-go/tools/docgen/internal/book"

// indexView is what the template of the first page shows.
type indexView struct {
	page
	Tagline    string
	Categories []category
	Articles   int
}

func (b *Builder) indexPage(order []*book.Article) ([]byte, error) {
	p := b.newPage("index.html", siteName, siteSummary)
	p.Here = "index"
	return b.execute("index.html", indexView{p, siteTagline, byCategory(order), len(order)})
}

// topicsView is what the template of the topics shows.
type topicsView struct {
	page
	Groups  []book.TopicGroup // by article
	LeftOut []book.Topic      // and why
}

func (b *Builder) topicsPage(groups []book.TopicGroup) ([]byte, error) {
	p := b.newPage("topics.html", "Topics", "What the articles cover, topic by topic, with the test that shows it.")
	p.Here = "topics"
	v := topicsView{page: p}
	for _, g := range groups {
		if g.Article == nil {
			v.LeftOut = append(v.LeftOut, g.Topics...)
			continue
		}
		v.Groups = append(v.Groups, g)
	}
	return b.execute("topics.html", v)
}

// notFoundPage may be sent for a path of any depth: its links are absolute.
func (b *Builder) notFoundPage() ([]byte, error) {
	p := b.newPage("404.html", "Not found", "There is no page at this address.")
	p.Canonical, p.Root = "", b.base.EscapedPath()
	return b.execute("404.html", p)
}
