package book

import (
	"regexp"

	"github.com/yuin/goldmark/ast"
)

// packages are those whose names an article may drop in backticks.
var packages = map[string]string{
	"relay":     "relay",
	"memory":    "relay/memory",
	"postgres":  "relay/postgres",
	"relaytest": "relay/relaytest",
}

var qualified = regexp.MustCompile(`\b(relay|memory|postgres|relaytest)\.([A-Z]\w*(?:\.[A-Z]\w*)?)`)

// checkNames wants each `relay.X` to be exported API.
func (l *loading) checkNames(p *page) {
	for span := range nodes[*ast.CodeSpan](p.Doc) {
		for _, m := range qualified.FindAllStringSubmatch(plain(span, p.Source), -1) {
			api, err := l.exported(packages[m[1]])
			if err != nil {
				p.reportAt(span, "%v", err)
			} else if !api[m[2]] {
				p.reportAt(span, "%s is no exported name of package %s; mend it, or leave the package's name away", m[0], m[1])
			}
		}
	}
}
