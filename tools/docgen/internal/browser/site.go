package browser

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Site is what Check looks at.
type Site struct {
	Files map[string][]byte
	Root  string // the path that it is served under: / or /x/y/

	// Copies are, by page, what its copy buttons have to give, from the top.
	Copies map[string][]string
	// Query is something to search for, and Found the page of the first result.
	Query, Found string
}

// Problem is something wrong, where a reader would meet it.
type Problem struct{ Page, View, What string }

func (p Problem) String() string { return fmt.Sprintf("%s (%s): %s", p.Page, p.View, p.What) }

const notFound = "404.html"

// pages are those of the site, in order.
func (s Site) pages() []string {
	var pages []string
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if path.Ext(name) == ".html" {
			pages = append(pages, name)
		}
	}
	return pages
}

// serve answers as a server of static files does that knows of the 404 page.
func (s Site) serve() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, under := strings.CutPrefix(r.URL.Path, s.Root)
		if name == "" {
			name = "index.html"
		}
		content, ok := s.Files[name]
		status := http.StatusOK
		if !ok || !under {
			name, content, status = notFound, s.Files[notFound], http.StatusNotFound
		}
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		w.WriteHeader(status)
		_, _ = w.Write(content)
	}))
}

// address is where a page is asked for: the 404 page where nothing is, deep down.
func (s Site) address(server *httptest.Server, page string) string {
	if page == notFound {
		page = "no/such/page"
	}
	return server.URL + s.Root + page
}

// write puts the site on disk.
func (s Site) write(dir string) error {
	for name, content := range s.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
