package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/site"
)

// serve shows the site while it is being written.
func serve(ctx context.Context, c *call) error {
	addr := c.flags.String("addr", "127.0.0.1:8080", "the `address` to listen on")
	tests := c.flags.String("tests", "", "the recorded `results` (docgen record)")
	if err := c.parse(0); err != nil {
		return err
	}
	if err := checkAddress(*addr); err != nil {
		return c.misuse("%v", err)
	}
	p, err := open(ctx, c.root, "main", *tests)
	if err != nil {
		return err
	}
	defer p.tree.Close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	base := &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/"}
	p.options.DropStale = true // what is being written is not recorded yet
	live := newLive(p, site.New(site.Options{BaseURL: base, Rev: "main", Repo: p.options.Repo, Live: true}), c)
	live.rebuild()
	watching, err := watch(p.root, p.options.From, live.rebuild, func(err error) {
		fmt.Fprintf(c.stderr, "docgen serve: some changes may not be seen: %v\n", err)
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer watching.Close()
	fmt.Fprintf(c.stdout, "serving %s until Ctrl-C\n", base)
	server := &http.Server{Handler: live, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func checkAddress(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("-addr %q is no address to listen on, such as 127.0.0.1:8080: %w", addr, err)
	}
	return nil
}

// live is the site as it was last built.
type live struct {
	project *project
	builder *site.Builder
	call    *call

	building sync.Mutex // one build at a time

	mu       sync.Mutex // guards what follows
	files    map[string][]byte
	findings []finding.Finding
	failed   error
	changed  chan struct{} // closed by the next build
}

func newLive(p *project, b *site.Builder, c *call) *live {
	return &live{project: p, builder: b, call: c, changed: make(chan struct{})}
}

// rebuild builds the site anew and tells the pages that are open.
func (l *live) rebuild() {
	l.building.Lock()
	defer l.building.Unlock()
	began := time.Now()
	files, found, err := l.build()
	l.show(files, found, err)
	switch { // said once it is so
	case err != nil:
		fmt.Fprintf(l.call.stderr, "docgen serve: %v\n", err)
	case len(found) > 0:
		_ = l.call.print(found)
	default:
		fmt.Fprintf(l.call.stdout, "built in %v\n", time.Since(began).Round(time.Millisecond))
	}
}

// show puts what was built in the place of what there was.
func (l *live) show(files map[string][]byte, found []finding.Finding, failed error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if files != nil {
		l.files = files
	}
	l.findings, l.failed = found, failed
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *live) build() (map[string][]byte, []finding.Finding, error) {
	if err := l.project.reload(); err != nil {
		return nil, nil, err
	}
	b, err := l.project.loader.Load(l.project.options)
	if err != nil {
		return nil, nil, err
	}
	if len(b.Findings) > 0 {
		return nil, b.Findings, nil
	}
	files, err := l.builder.Build(b)
	return files, nil, err
}

// ServeHTTP answers with a file of the site; with what is wrong, as long as
// something is; and at the address of events with the news of the next build.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == eventsPath {
		l.events(w, r)
		return
	}
	l.mu.Lock()
	files, found, failed := l.files, l.findings, l.failed
	l.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	w.Header().Set("Cache-Control", "no-store")
	if isPage := strings.HasSuffix(name, ".html"); isPage && (failed != nil || len(found) > 0) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write(faultPage(found, failed))
		return
	}
	content, ok := files[name]
	if !ok {
		content, name = files["404.html"], "404.html"
	}
	w.Header().Set("Content-Type", contentType(name))
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = w.Write(content)
}

func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".md", ".txt":
		return "text/plain; charset=utf-8"
	default:
		return mime.TypeByExtension(ext)
	}
}

// eventsPath is where a page that is open hears of the next build.
const eventsPath = "/_live"

// faultPage lists what is wrong, and loads itself again after the next build.
func faultPage(found []finding.Finding, failed error) []byte {
	var b strings.Builder
	b.WriteString("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Findings</title><script>new EventSource('" + eventsPath + "').onmessage = () => location.reload()</script><h1>Not built</h1><ul>")
	if failed != nil {
		fmt.Fprintf(&b, "<li><pre>%s</pre>", html.EscapeString(failed.Error()))
	}
	for _, f := range found {
		fmt.Fprintf(&b, "<li><pre>%s</pre>", html.EscapeString(f.String()))
	}
	b.WriteString("</ul></html>\n")
	return []byte(b.String())
}

// events sends a line when the site has been built anew.
func (l *live) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	l.mu.Lock()
	changed := l.changed
	l.mu.Unlock()
	_, _ = fmt.Fprint(w, ": listening\n\n")
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	select {
	case <-changed:
		_, _ = fmt.Fprint(w, "data: built\n\n")
	case <-r.Context().Done():
	}
}
