package browser

import (
	_ "embed"
	"slices"
)

//go:embed audit.js
var auditScript string

// audit looks at the page that is open: its layout, its colours and its tree.
func (c *check) audit() error {
	problems, err := eval[[]string](c, auditScript)
	if err != nil {
		return err
	}
	for _, what := range problems {
		c.report("%s", what)
	}
	nodes, err := c.tree()
	if err != nil {
		return err
	}
	c.auditNames(nodes)
	if !slices.ContainsFunc(nodes, isDialog) { // an open one hides the page behind it
		c.auditOutline(nodes)
	}
	return nil
}
