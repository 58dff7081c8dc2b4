package source

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addSubtests finds the t.Run calls with a literal name in a test. What a t.Run
// with a computed name holds is left out: its full name is known only when it
// runs. names are the variables that are a *testing.T here.
func (f *file) addSubtests(parent *symbol, typ *ast.FuncType, names map[string]bool) {
	addTestingT(names, typ)
	ast.Inspect(parent.body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncLit:
			addTestingT(names, node.Type)
		case *ast.CallExpr:
			if !isRun(node, names) {
				return true
			}
			lit, ok := node.Args[0].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return false
			}
			name, _ := strconv.Unquote(lit.Value) // the parser has accepted it
			sub := f.add(parent.test+"/"+rewrite(name), node, f.commentAbove(node))
			sub.test = sub.name
			if function, ok := node.Args[1].(*ast.FuncLit); ok {
				sub.body = function.Body
				f.addSubtests(sub, function.Type, names)
			}
			return false
		}
		return true
	})
}

// commentAbove is the comment that ends on the line before node, if it has its
// lines to itself.
func (f *file) commentAbove(node ast.Node) *ast.CommentGroup {
	line := f.line(node.Pos())
	for _, group := range f.ast.Comments {
		if f.line(group.End()) == line-1 && strings.TrimSpace(f.before(group.Pos())) == "" {
			return group
		}
	}
	return nil
}

// before is the text of pos's line in front of it.
func (f *file) before(pos token.Pos) string {
	at := f.fset.PositionFor(pos, false)
	return string(f.src[at.Offset-at.Column+1 : at.Offset])
}

func isRun(call *ast.CallExpr, names map[string]bool) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Run" || len(call.Args) != 2 {
		return false
	}
	receiver, ok := selector.X.(*ast.Ident)
	return ok && names[receiver.Name]
}

func addTestingT(names map[string]bool, typ *ast.FuncType) {
	for _, param := range typ.Params.List {
		if !isTesting(param.Type, "T") {
			continue
		}
		for _, name := range param.Names {
			names[name.Name] = true
		}
	}
}

// takes tells whether a function takes a *testing.T (or F) and nothing else.
func takes(typ *ast.FuncType, name string) bool {
	params := typ.Params.List
	return typ.TypeParams == nil && typ.Results == nil &&
		len(params) == 1 && len(params[0].Names) <= 1 && isTesting(params[0].Type, name)
}

// isTesting tells whether typ is *testing.T, under whatever name testing was
// imported: go vet refuses a Test function that takes another T.
func isTesting(typ ast.Expr, name string) bool {
	pointer, ok := typ.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := pointer.X.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == name
}

// isTestName tells whether go test takes name for one of its own: what follows
// the prefix does not begin with a small letter.
func isTestName(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && !unicode.IsLower(first)
}

// rewrite spells a subtest's name as go test does.
func rewrite(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte('_')
		case !strconv.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
