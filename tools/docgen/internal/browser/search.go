package browser

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	searchInput  = "document.querySelector('[data-search-input]')"
	searchDialog = "document.querySelector('[data-search-dialog]')"
	searchStatus = "document.querySelector('[data-search-status]').textContent"
	searchAsked  = "document.querySelector('[data-search-list]').dataset.asked"
	searchButton = "document.querySelector('[data-search]')"
	focused      = "document.activeElement"
)

// useSearch searches by keyboard: from the shortcut to the page that was found.
func (c *check) useSearch() error {
	if c.site.Query == "" {
		return nil
	}
	if err := c.open(c.otherPage()); err != nil {
		return err
	}
	// From somewhere else than the search's own button, to see the focus return.
	if _, err := eval[bool](c, "document.querySelector('[data-theme-button]').focus(), true"); err != nil {
		return err
	}
	if err := c.press("k", chromedp.ModifierCtrl); err != nil {
		return err
	}
	if err := c.expect(searchDialog+".open && "+focused+" === "+searchInput, "Ctrl+K does not open the search"); err != nil {
		return err
	}
	if err := c.typeQuery(); err != nil {
		return err
	}
	if err := c.audit(); err != nil { // the results
		return err
	}
	for _, step := range []struct{ key, want, complaint string }{
		{kb.ArrowDown, focused + ".closest('[data-search-list]')", "the arrow does not go to the first result"},
		{kb.ArrowUp, focused + " === " + searchInput, "the arrow does not go back to the field"},
		{kb.ArrowUp, focused + ".closest('li') && !" + focused + ".closest('li').nextElementSibling", "the arrow does not go round to the last result"},
		{kb.Escape, "!" + searchDialog + ".open && " + focused + ".matches('[data-theme-button]')", "Escape does not close the search and give the focus back"},
	} {
		if err := c.press(step.key); err != nil {
			return err
		}
		if err := c.expect(step.want, step.complaint); err != nil {
			return err
		}
	}
	return c.followResult()
}

// typeQuery types the query, and waits for the answer to all of it: each letter
// has an answer of its own.
func (c *check) typeQuery() error {
	if err := c.press(c.site.Query); err != nil {
		return err
	}
	if err := c.wait(searchAsked + " === " + strconv.Quote(c.site.Query) + " && " + searchStatus); err != nil {
		return err
	}
	return c.expect("/^\\d+ results?$/.test("+searchStatus+")", "the search finds nothing for "+c.site.Query)
}

// followResult opens the search by its button, and takes the first result.
func (c *check) followResult() error {
	if _, err := eval[bool](c, searchButton+".focus(), true"); err != nil {
		return err
	}
	if err := c.press(kb.Enter); err != nil {
		return err
	}
	if err := c.typeQuery(); err != nil {
		return err
	}
	first, err := eval[string](c, "(document.querySelector('[data-search-list] a') || {}).href || ''")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(first, c.site.address(c.server, c.site.Found)) {
		c.report("the first result for %q is %s, not %s", c.site.Query, first, c.site.Found)
		return c.closePage()
	}
	if _, err := chromedp.RunResponse(c.ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
		return fmt.Errorf("following %s: %w", first, err)
	}
	if err := c.expect("location.href === "+strconv.Quote(first), "Enter does not take the first result"); err != nil {
		return err
	}
	if err := c.expect("!location.hash || document.querySelector(':target')", "the first result leads to a place that is not there"); err != nil {
		return err
	}
	return c.closePage()
}

// otherPage is one that the search has to lead away from.
func (c *check) otherPage() string {
	pages := c.site.pages()
	if pages[0] == c.site.Found {
		return pages[len(pages)-1]
	}
	return pages[0]
}

// searchFromDisk looks whether the search says why it does not work there.
func (c *check) searchFromDisk() error {
	if c.site.Query == "" {
		return nil
	}
	if err := c.press("k", chromedp.ModifierCtrl); err != nil {
		return err
	}
	return c.expect("/server/.test("+searchStatus+")", "the search does not say that it needs a server")
}
