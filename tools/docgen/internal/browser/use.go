package browser

import (
	"fmt"
	"strconv"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// use tries the theme, the search and the copy buttons, by keyboard.
func (c *check) use() error {
	if err := c.look(view{1280, "light"}); err != nil {
		return err
	}
	// The page believes that its window has the focus, as the clipboard wants.
	if _, err := chromedp.Call(c.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		return err
	}
	for _, step := range []func() error{c.useBareKeys, c.useTheme, c.useSearch, c.useCopies} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) press(keys string, modifiers ...chromedp.Modifier) error {
	if err := chromedp.Do(c.ctx, chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...))); err != nil {
		return fmt.Errorf("%s: %w", c.page, err)
	}
	return nil
}

// expect reports a script of ours that is not true.
func (c *check) expect(script, complaint string) error {
	ok, err := eval[bool](c, "!!("+script+")")
	if err == nil && !ok {
		c.report("%s", complaint)
	}
	return err
}

// useBareKeys presses what other sites have as shortcuts, on nothing.
func (c *check) useBareKeys() error {
	if err := c.open(c.site.pages()[0]); err != nil {
		return err
	}
	const state = "JSON.stringify([location.href, document.querySelectorAll('[open]').length, document.documentElement.dataset, document.activeElement === document.body])"
	before, err := eval[string](c, state)
	if err != nil {
		return err
	}
	for _, key := range []string{"s", "k", "/", "?", "t", "n", "p", kb.ArrowLeft, kb.ArrowRight} {
		if err := c.press(key); err != nil {
			return err
		}
		after, err := eval[string](c, state)
		if err != nil {
			return err
		}
		if after != before {
			c.report("the key %q alone does something: %s becomes %s", key, before, after)
			before = after
		}
	}
	return c.closePage()
}

// useTheme switches to dark and back, and looks whether it is remembered.
func (c *check) useTheme() error {
	const scheme = "getComputedStyle(document.documentElement).colorScheme"
	const pressed = "document.querySelector('[data-theme-button]').getAttribute('aria-pressed')"
	page := c.site.pages()[0]
	if err := c.open(page); err != nil {
		return err
	}
	for _, step := range []struct{ scheme, pressed string }{{"dark", "true"}, {"light dark", "false"}} {
		if _, err := eval[bool](c, "document.querySelector('[data-theme-button]').focus(), true"); err != nil {
			return err
		}
		if err := c.press(kb.Enter); err != nil {
			return err
		}
		if err := c.expect(scheme+" === "+strconv.Quote(step.scheme), "the theme's button does not change the theme to "+step.scheme); err != nil {
			return err
		}
		if err := c.closePage(); err != nil {
			return err
		}
		if err := c.open(page); err != nil {
			return err
		}
		if err := c.expect(scheme+" === "+strconv.Quote(step.scheme), "the theme is forgotten when the page is loaded again"); err != nil {
			return err
		}
		if err := c.expect(pressed+" === "+strconv.Quote(step.pressed), "the theme's button does not say what it is"); err != nil {
			return err
		}
		if err := c.audit(); err != nil {
			return err
		}
	}
	return c.closePage()
}

// useCopies presses each copy button, and reads the clipboard.
func (c *check) useCopies() error {
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(c.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
		})
		if err != nil {
			return err
		}
	}
	for _, page := range c.site.pages() {
		want, ok := c.site.Copies[page]
		if !ok {
			continue
		}
		if err := c.open(page); err != nil {
			return err
		}
		// A button in what is folded away can't be pressed before it is opened.
		n, err := eval[int](c, `document.querySelectorAll('details').forEach(d => { d.open = true; });
			document.querySelectorAll('[data-copy]').length`)
		if err != nil {
			return err
		}
		if n != len(want) {
			c.report("it has %d copy buttons, not %d", n, len(want))
			continue
		}
		for i := range want {
			if err := c.copy(i, want[i]); err != nil {
				return err
			}
		}
		if err := c.closePage(); err != nil {
			return err
		}
	}
	return nil
}

// copy presses the nth button of the page. The button's answer goes after a
// while, so whoever waits for it has to begin before the key is pressed.
func (c *check) copy(n int, want string) error {
	button := fmt.Sprintf("document.querySelectorAll('[data-copy]')[%d]", n)
	_, err := eval[bool](c, button+`.focus();
		answer = new Promise(done => {
			const watch = new MutationObserver(() => { watch.disconnect(); done(true); });
			watch.observe(`+button+`, { childList: true });
			setTimeout(done, 10000, false);
		});
		true`)
	if err != nil {
		return err
	}
	if err := c.press(kb.Enter); err != nil {
		return err
	}
	answered, err := eval[bool](c, "answer")
	if err != nil {
		return err
	}
	if !answered {
		c.report("copy button %d does not answer", n+1)
		return nil
	}
	got, err := eval[string](c, "navigator.clipboard.readText()")
	if err != nil {
		return err
	}
	if got != want {
		c.report("copy button %d gives %q, not %q", n+1, got, want)
	}
	return c.expect("document.activeElement === "+button, "a copy button loses the focus")
}
