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

var qualified = regexp.MustCompile(`(?:^|[^\w./])(relay|memory|postgres|relaytest)\.([A-Z]\w*(?:\.[A-Z]\w*)?)`)

// checkNames wants each `relay.X` to be exported API.
func (l *loading) checkNames(p *page) {
	for span := range nodes[*ast.CodeSpan](p.Doc) {
		for _, m := range qualified.FindAllStringSubmatch(Plain(span, p.Source), -1) {
			api, err := l.exported(packages[m[1]])
			if err == nil && !api[m[2]] { // what can't be parsed is one finding, made elsewhere
				p.reportAt(span, "%s.%s is no exported name of package %s; mend it, or leave the package's name away", m[1], m[2], m[1])
			}
		}
	}
}
