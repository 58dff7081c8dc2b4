package browser

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// named are the roles that mean nothing without a name.
var named = []string{
	"button", "checkbox", "combobox", "dialog", "DisclosureTriangle", "form", "heading", "image", "link",
	"listbox", "navigation", "option", "region", "searchbox", "SvgRoot", "textbox",
}

func isDialog(n *accessibility.Node) bool { return text(n.Role) == "dialog" }

// auditNames looks for what a screen reader could only call by its role.
func (c *check) auditNames(nodes []*accessibility.Node) {
	navigations := map[string]bool{}
	for _, n := range nodes {
		role, name := text(n.Role), strings.TrimSpace(text(n.Name))
		if name == "" && slices.Contains(named, role) {
			c.report("a %s has no name", role)
		}
		if role == "navigation" {
			if navigations[name] {
				c.report("two navigations are called %q", name)
			}
			navigations[name] = true
		}
	}
}

// auditOutline looks at what a reader jumps along: one main, one h1, and headings
// that go down one level at a time.
func (c *check) auditOutline(nodes []*accessibility.Node) {
	mains, tops, last := 0, 0, 0
	for _, n := range nodes {
		switch text(n.Role) {
		case "main":
			mains++
		case "heading":
			level := levelOf(n)
			if level == 1 {
				tops++
			}
			if level > last+1 {
				c.report("the heading %q is of level %d, after one of level %d", text(n.Name), level, last)
			}
			last = level
		}
	}
	if mains != 1 {
		c.report("it has %d main landmarks, not one", mains)
	}
	if tops != 1 {
		c.report("it has %d headings of level 1, not one", tops)
	}
}

// tree is the accessibility tree, in the order of the page, without what is
// hidden.
func (c *check) tree() ([]*accessibility.Node, error) {
	full, err := chromedp.Call(c.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		return nil, err
	}
	byID := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range full.Nodes {
		byID[n.NodeID] = n
	}
	var nodes []*accessibility.Node
	var visit func(n *accessibility.Node)
	visit = func(n *accessibility.Node) {
		if !n.Ignored {
			nodes = append(nodes, n)
		}
		for _, id := range n.ChildIDs {
			if child := byID[id]; child != nil {
				visit(child)
			}
		}
	}
	if len(full.Nodes) > 0 {
		visit(full.Nodes[0])
	}
	return nodes, nil
}

func text(v *accessibility.Value) string {
	var s string
	if v != nil {
		_ = json.Unmarshal(v.Value, &s) // what is no string has no text
	}
	return s
}

func levelOf(n *accessibility.Node) int {
	var level int
	for _, p := range n.Properties {
		if p.Name == accessibility.PropertyNameLevel {
			_ = json.Unmarshal(p.Value.Value, &level) // 0, which is reported
		}
	}
	return level
}
