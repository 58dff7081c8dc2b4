package site_test

import (
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

func TestFeed_HasTheNewestArticleFirstAndNoneWithoutADate(t *testing.T) {
	var feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Updated string   `xml:"updated"`
		Entries []struct {
			Title   string `xml:"title"`
			ID      string `xml:"id"`
			Updated string `xml:"updated"`
			Summary string `xml:"summary"`
		} `xml:"entry"`
	}
	require.NoError(t, xml.Unmarshal(build(t, address, newBook(t))["feed.xml"], &feed))
	require.Equal(t, address, feed.ID)
	require.Equal(t, "2026-03-04T06:06:07Z", feed.Updated)
	require.Len(t, feed.Entries, 2)
	require.Equal(t, "Leases with fencing tokens", feed.Entries[0].Title)
	require.Equal(t, address+"030-leases.html", feed.Entries[0].ID)
	require.Equal(t, "2026-03-04T05:06:07Z", feed.Entries[1].Updated)
	require.Equal(t, "What distributed locks is for.", feed.Entries[1].Summary)
}

func TestFeed_WithoutArticlesIsStillAFeed(t *testing.T) {
	require.NoError(t, xml.Unmarshal(build(t, address, &book.Book{})["feed.xml"], new(struct{})))
}

func TestSitemap_ListsThePagesByTheirCanonicalAddresses(t *testing.T) {
	var sitemap struct {
		URLs []struct {
			Loc     string `xml:"loc"`
			LastMod string `xml:"lastmod"`
		} `xml:"url"`
	}
	files := build(t, address, newBook(t))
	require.NoError(t, xml.Unmarshal(files["sitemap.xml"], &sitemap))
	var locations []string
	for _, u := range sitemap.URLs {
		locations = append(locations, u.Loc)
	}
	require.Equal(t, []string{
		address, address + "topics.html", address + "023-locks.html", address + "030-leases.html", address + "107-bare.html",
	}, locations)
	require.Equal(t, "2026-03-04", sitemap.URLs[2].LastMod)
	require.Equal(t, "User-agent: *\nAllow: /\n\nSitemap: "+address+"sitemap.xml\n", string(files["robots.txt"]))
}

func TestLLMs_ListsThePagesInMarkdown(t *testing.T) {
	text := string(build(t, address, newBook(t))["llms.txt"])
	require.Contains(t, text, "# Relay\n\n> Runnable samples")
	require.Contains(t, text, "## Coordination\n\n- [Distributed locks]("+address+"023-locks.md): What distributed locks is for.\n")
}
