package site_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// pages are the site's pages, parsed.
func pages(t testing.TB, files map[string][]byte) map[string]*html.Node {
	t.Helper()
	found := map[string]*html.Node{}
	for name, content := range files {
		if strings.HasSuffix(name, ".html") {
			found[name] = parseHTML(t, content)
		}
	}
	return found
}

func parseHTML(t testing.TB, content []byte) *html.Node {
	t.Helper()
	page, err := html.Parse(bytes.NewReader(content))
	require.NoError(t, err)
	return page
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// references are the addresses that a page links to or loads.
func references(page *html.Node) []string {
	var found []string
	for n := range page.Descendants() {
		for _, key := range []string{"href", "src"} {
			if ref := attr(n, key); ref != "" {
				found = append(found, ref)
			}
		}
	}
	return found
}

func ids(page *html.Node) []string {
	var found []string
	for n := range page.Descendants() {
		if id := attr(n, "id"); id != "" {
			found = append(found, id)
		}
	}
	return found
}

// byClass is the first element with a class; a missing one is a failure.
func byClass(t testing.TB, page *html.Node, class string) *html.Node {
	t.Helper()
	all := allByClass(page, class)
	require.NotEmpty(t, all, "nothing has the class %s", class)
	return all[0]
}

func allByClass(page *html.Node, class string) []*html.Node {
	var found []*html.Node
	for n := range page.Descendants() {
		for word := range strings.FieldsSeq(attr(n, "class")) {
			if word == class {
				found = append(found, n)
			}
		}
	}
	return found
}

func byID(t testing.TB, page *html.Node, id string) *html.Node {
	t.Helper()
	for n := range page.Descendants() {
		if attr(n, "id") == id {
			return n
		}
	}
	require.FailNow(t, "there is no #"+id)
	return nil
}

// textOf is what copying an element gives.
func textOf(n *html.Node) string {
	var b strings.Builder
	for n := range n.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// words is a text with its white space made plain.
func words(n *html.Node) string { return strings.Join(strings.Fields(textOf(n)), " ") }

func pngOf(t testing.TB, width, height int) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, image.NewGray(image.Rect(0, 0, width, height))))
	return out.Bytes()
}
