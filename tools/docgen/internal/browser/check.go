package browser

import (
	"fmt"
	"net/http/httptest"
	"os"
	"slices"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// view is how a reader sees a page.
type view struct {
	width int64
	theme string // of the system
}

func (v view) String() string { return fmt.Sprintf("%d px, %s", v.width, v.theme) }

var views = []view{{360, "light"}, {360, "dark"}, {1280, "light"}, {1280, "dark"}}

// Check looks at every page of a site, and uses what can be used. An error is one
// of the browser, not of the site.
func (b *Browser) Check(s Site) ([]Problem, error) {
	server := s.serve()
	defer server.Close()
	c := &check{Browser: b, site: s, server: server}
	if err := c.everyPage(); err != nil {
		return nil, err
	}
	if err := c.use(); err != nil {
		return nil, err
	}
	if err := c.withoutScripts(); err != nil {
		return nil, err
	}
	if err := c.fromDisk(); err != nil {
		return nil, err
	}
	return c.problems, nil
}

// check is one run over a site.
type check struct {
	*Browser
	site     Site
	server   *httptest.Server
	page     string
	view     string
	problems []Problem
}

func (c *check) report(format string, args ...any) {
	p := Problem{c.page, c.view, fmt.Sprintf(format, args...)}
	if !slices.Contains(c.problems, p) {
		c.problems = append(c.problems, p)
	}
}

// look shows the tab's next page as the view wants it.
func (c *check) look(v view) error {
	c.view = v.String()
	_, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.theme}},
	})
	if err != nil {
		return err
	}
	return chromedp.Do(c.ctx, chromedp.EmulateViewport(v.width, 800))
}

// open loads a page, and reports what goes wrong on the way.
func (c *check) open(page string) error {
	c.page = page
	address, missing := c.site.address(c.server, page), ""
	if page == notFound {
		missing = address
	}
	c.log.begin(c.server.URL+c.site.Root, missing)
	if err := chromedp.Do(c.ctx, chromedp.Navigate(address)); err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return nil
}

// closePage reports what has been recorded since open. The command before
// brings all events that came first.
func (c *check) closePage() error {
	if _, err := eval[bool](c, "true"); err != nil {
		return err
	}
	for _, what := range c.log.end() {
		c.report("%s", what)
	}
	return nil
}

// eval runs a script of ours in the page.
func eval[T any](c *check, script string) (T, error) {
	v, err := chromedp.Run(c.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		return v, fmt.Errorf("%s: %w", c.page, err)
	}
	return v, nil
}

// wait waits until a script of ours gives something true.
func (c *check) wait(script string) error {
	_, err := chromedp.Run(c.ctx, chromedp.Poll[chromedp.Void]("!!("+script+")"))
	if err != nil {
		return fmt.Errorf("%s: waiting for %s: %w", c.page, script, err)
	}
	return nil
}

// everyPage audits each page in each view.
func (c *check) everyPage() error {
	for _, page := range c.site.pages() {
		for _, v := range views {
			if err := c.look(v); err != nil {
				return err
			}
			if err := c.open(page); err != nil {
				return err
			}
			if err := c.audit(); err != nil {
				return err
			}
			if err := c.closePage(); err != nil {
				return err
			}
		}
	}
	return nil
}

// fromDisk opens each page from a folder.
func (c *check) fromDisk() error {
	dir, err := os.MkdirTemp("", "site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := c.site.write(dir); err != nil {
		return err
	}
	c.view = "from disk"
	for _, page := range c.site.pages() {
		if page == notFound {
			continue // only a server shows it
		}
		c.page = page
		c.log.begin("file://"+dir+"/", "")
		if err := chromedp.Do(c.ctx, chromedp.Navigate("file://"+dir+"/"+page)); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := c.searchFromDisk(); err != nil {
			return err
		}
		if err := c.closePage(); err != nil {
			return err
		}
	}
	return nil
}
