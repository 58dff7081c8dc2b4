package browser

import (
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// withoutScripts looks whether the text is there when scripts are switched off,
// and whether nothing is shown that needs them.
func (c *check) withoutScripts() error {
	defer c.allowScripts(true)
	for _, page := range c.site.pages() {
		c.view = "without scripts"
		if err := c.allowScripts(true); err != nil {
			return err
		}
		with, err := c.mainText(page)
		if err != nil {
			return err
		}
		if err := c.allowScripts(false); err != nil {
			return err
		}
		without, err := c.mainText(page)
		if err != nil {
			return err
		}
		for _, line := range with {
			if !strings.Contains(strings.Join(without, "\n"), line) {
				c.report("%q is missing", line)
			}
		}
		nodes, err := c.tree()
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if text(n.Role) == "button" {
				c.report("the button %q is shown, and does nothing", text(n.Name))
			}
		}
		if err := c.closePage(); err != nil {
			return err
		}
	}
	return nil
}

// mainText are the lines that a reader sees, without the buttons.
func (c *check) mainText(page string) ([]string, error) {
	if err := c.open(page); err != nil {
		return nil, err
	}
	return eval[[]string](c, `(() => {
		const main = document.querySelector('main');
		if (!main) return [];
		main.querySelectorAll('button, .js-only').forEach(b => b.remove());
		return main.innerText.split('\n').map(line => line.trim()).filter(line => line);
	})()`)
}

func (c *check) allowScripts(allow bool) error {
	_, err := chromedp.Call(c.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !allow})
	return err
}
