package site_test

import (
	"bytes"
	"compress/gzip"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/site"
)

const address = "https://relay.example/x/y/"

func TestBuild_HasEveryFileThatASiteNeeds(t *testing.T) {
	files := build(t, address, newBook(t))
	for _, name := range []string{
		"index.html", "topics.html", "404.html", "023-locks.html", "030-leases.html", "107-bare.html",
		"023-locks.md", "search.json", "feed.xml", "sitemap.xml", "robots.txt", "llms.txt",
	} {
		require.NotEmpty(t, files[name], name)
	}
	require.Equal(t, newBook(t).Articles[1].Markdown, files["030-leases.md"])
}

func TestBuild_TwoBuildersGiveTheSameBytes(t *testing.T) {
	requireSame(t, build(t, address, newBook(t)), build(t, address, newBook(t)))
}

// requireSame compares sites without printing them.
func requireSame(t testing.TB, want, got map[string][]byte) {
	t.Helper()
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for name := range want {
		require.True(t, bytes.Equal(want[name], got[name]), "%s differs", name)
	}
}

func TestBuild_WithoutABaseURLIsAnError(t *testing.T) {
	for _, o := range []site.Options{{}, {BaseURL: &url.URL{Path: "/x/"}}, {BaseURL: &url.URL{Host: "relay.example"}}} {
		_, err := site.New(o).Build(newBook(t))
		require.ErrorContains(t, err, "base URL")
	}
}

func TestBuild_BaseURLMayLackItsSlash(t *testing.T) {
	requireSame(t, build(t, address, newBook(t)), build(t, strings.TrimSuffix(address, "/"), newBook(t)))
}

func TestBuild_RendersAgainOnlyWhatHasChanged(t *testing.T) {
	bk := newBook(t)
	b := site.New(options(t, address))
	first, err := b.Build(bk)
	require.NoError(t, err)

	// An article of which nothing is known to have changed is not looked at.
	bk.Articles[0].Title = "Changed behind its back"
	again, err := b.Build(bk)
	require.NoError(t, err)
	require.Equal(t, first["023-locks.html"], again["023-locks.html"])

	// Its neighbours name it: when it has been read again, all three are made.
	edited := *bk.Articles[0]
	edited.Title = "Locks, edited"
	bk.Articles[0] = &edited
	bk.Articles[1].After = []*book.Article{&edited}
	again, err = b.Build(bk)
	require.NoError(t, err)
	require.Contains(t, string(again["023-locks.html"]), "Locks, edited")
	require.Contains(t, string(again["030-leases.html"]), "Locks, edited")
	require.Equal(t, first["107-bare.html"], again["107-bare.html"])

	fresh, err := site.New(options(t, address)).Build(bk)
	require.NoError(t, err)
	requireSame(t, fresh, again) // what was kept is what would be made now
}

func TestBuild_RendersAgainWhatNamesAnArticleThatHasChanged(t *testing.T) {
	for _, c := range []struct {
		naming        string
		changed, user int
	}{{"previous", 0, 1}, {"next", 2, 1}, {"prerequisite", 0, 2}} {
		t.Run(c.naming, func(t *testing.T) {
			bk := newBook(t)
			user := bk.Articles[c.user]
			bk.Articles[1].After = nil
			if c.naming == "prerequisite" {
				user.After = []*book.Article{bk.Articles[c.changed]}
			}
			b := site.New(options(t, address))
			_, err := b.Build(bk)
			require.NoError(t, err)

			edited := *bk.Articles[c.changed]
			edited.Title = "Edited"
			bk.Articles[c.changed] = &edited
			if user.After != nil {
				user.After = []*book.Article{&edited}
			}
			again, err := b.Build(bk)
			require.NoError(t, err)
			require.Contains(t, string(again[user.Slug+".html"]), "Edited")
			requireSame(t, build(t, address, bk), again)
		})
	}
}

func TestBuild_AnImageThatGrowsIsMeasuredAgain(t *testing.T) {
	bk := newBook(t)
	a := newArticle(t, "200-picture", "Picture", "![a picture](images/a.png)\n", nil)
	bk.Articles = append(bk.Articles, a)
	bk.Images["images/a.png"] = pngOf(t, 20, 10)
	b := site.New(options(t, address))
	files, err := b.Build(bk)
	require.NoError(t, err)
	require.Contains(t, string(files["200-picture.html"]), `<img src="images/a.png" alt="a picture" loading="lazy" width="20" height="10">`)
	require.Equal(t, bk.Images["images/a.png"], files["images/a.png"])

	bk.Images["images/a.png"] = pngOf(t, 40, 30)
	files, err = b.Build(bk)
	require.NoError(t, err)
	require.Contains(t, string(files["200-picture.html"]), `width="40" height="30"`)
}

// D7, D8: every link leads somewhere, under a sub-path too.
func TestBuild_EveryLinkAndFragmentResolvesWithinTheSite(t *testing.T) {
	files := build(t, address, newBook(t))
	base, err := url.Parse(address)
	require.NoError(t, err)
	checked := 0
	for name, page := range pages(t, files) {
		at := base.ResolveReference(&url.URL{Path: name})
		if name == "404.html" {
			at = base.ResolveReference(&url.URL{Path: "no/such/page"})
		}
		for _, ref := range references(page) {
			if id, ok := strings.CutPrefix(ref, "#"); ok {
				require.Contains(t, ids(page), unescaped(t, id), "in %s", name)
				continue
			}
			u, err := at.Parse(ref)
			require.NoError(t, err)
			if u.Host != base.Host {
				require.Equal(t, "https", u.Scheme, "%s links to %s", name, ref)
				continue
			}
			checked++
			to, ok := strings.CutPrefix(u.Path, base.Path)
			require.True(t, ok, "%s links to %s, which is outside of the site", name, ref)
			if u.Path == base.Path {
				to = "index.html"
			}
			require.True(t, files[to] != nil, "%s links to %s", name, ref)
			if u.Fragment != "" && path.Ext(to) == ".html" {
				require.Contains(t, ids(parseHTML(t, files[to])), u.Fragment, "%s links to %s", name, ref)
			}
		}
	}
	require.Greater(t, checked, 80)
}

func unescaped(t testing.TB, s string) string {
	t.Helper()
	s, err := url.PathUnescape(s)
	require.NoError(t, err)
	return s
}

func TestBuild_LinksAreRelativeButForThoseOfThe404Page(t *testing.T) {
	for name, page := range pages(t, build(t, address, newBook(t))) {
		for _, ref := range references(page) {
			if strings.HasPrefix(ref, address) {
				continue // canonical
			}
			rooted := strings.HasPrefix(ref, "/x/y/") || strings.HasPrefix(ref, "https://") || strings.HasPrefix(ref, "#")
			if name == "404.html" {
				require.True(t, rooted, "%s in %s", ref, name)
			} else {
				require.False(t, strings.HasPrefix(ref, "/"), "%s in %s", ref, name)
			}
		}
	}
}

func TestBuild_IDsAreUniqueOnEachPage(t *testing.T) {
	for name, page := range pages(t, build(t, address, newBook(t))) {
		all := ids(page)
		slices.Sort(all)
		require.Equal(t, slices.Compact(slices.Clone(all)), all, name)
	}
}

func TestBuild_NothingThatTheContentPolicyWouldRefuse(t *testing.T) {
	for name, page := range pages(t, build(t, address, newBook(t))) {
		policies := 0
		for n := range page.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			require.NotEqual(t, "style", n.Data, "%s has a style element", name)
			require.False(t, n.Data == "script" && n.FirstChild != nil, "%s has a script of its own", name)
			if attr(n, "http-equiv") == "Content-Security-Policy" {
				policies++
				require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'", attr(n, "content"))
			}
			for _, a := range n.Attr {
				require.NotEqual(t, "style", a.Key, "<%s> in %s", n.Data, name)
				require.False(t, strings.HasPrefix(a.Key, "on"), "<%s %s> in %s", n.Data, a.Key, name)
			}
		}
		require.Equal(t, 1, policies, name)
	}
}

func TestBuild_TheLiveScriptIsNoPartOfASiteThatIsPublished(t *testing.T) {
	live := func(files map[string][]byte) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(name string) bool { return strings.HasPrefix(name, "assets/live.") }) ||
			bytes.Contains(files["index.html"], []byte("live."))
	}
	require.False(t, live(build(t, address, newBook(t))))
	o := options(t, address)
	o.Live = true
	files, err := site.New(o).Build(newBook(t))
	require.NoError(t, err)
	require.True(t, live(files))
}

func TestBuild_StaysWithinItsBudgets(t *testing.T) {
	scripts := 0
	for name, content := range build(t, address, longBook(t, ourShape(2), newVocabulary(12000))) {
		switch path.Ext(name) {
		case ".html":
			require.LessOrEqual(t, zipped(t, content), 60<<10, name)
		case ".js":
			scripts += len(content)
		}
	}
	require.LessOrEqual(t, scripts, 10<<10, "all scripts together")
	require.Greater(t, scripts, 0)
}

func zipped(t testing.TB, content []byte) int {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Len()
}
