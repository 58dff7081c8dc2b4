package source

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
)

// goFile is what a Go file declares.
type goFile struct {
	fset    *token.FileSet
	ast     *ast.File
	symbols map[string][]*symbol // by selector; more than one: it is there so often
	tests   []*symbol            // what go test runs, in order, without subtests
}

// symbol is something in a Go file that a selector can name.
type symbol struct {
	name       string
	start, end int // lines
	doc        *ast.CommentGroup
	withDoc    bool           // the doc comment always belongs to it
	body       *ast.BlockStmt // of a function
	test       string         // as go test names it, if go test runs it
}

func (f *file) parseGo() error {
	var err error
	f.ast, err = parser.ParseFile(f.fset, f.path, f.src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f.symbols = map[string][]*symbol{}
	for _, decl := range f.ast.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			f.addFunc(decl)
		case *ast.GenDecl:
			f.addGroup(decl)
		}
	}
	f.addExamples()
	return nil
}

func (f *file) line(pos token.Pos) int { return f.fset.PositionFor(pos, false).Line }

// offset is where pos is in the file. The bytes are cut by it.
func (f *file) offset(pos token.Pos) int { return f.fset.PositionFor(pos, false).Offset }

func (f *file) add(name string, node ast.Node, comment *ast.CommentGroup) *symbol {
	s := &symbol{name: name, start: f.line(node.Pos()), end: f.line(node.End()), doc: comment}
	f.symbols[name] = append(f.symbols[name], s)
	return s
}

func (f *file) addFunc(decl *ast.FuncDecl) {
	name := funcName(decl)
	s := f.add(name, decl, decl.Doc)
	s.body = decl.Body
	if !f.isTest() || decl.Recv != nil || decl.Body == nil {
		return
	}
	isTest := isTestName(name, "Test") && takes(decl.Type, "T")
	if isTest || isTestName(name, "Fuzz") && takes(decl.Type, "F") {
		s.test = name
		f.tests = append(f.tests, s)
	}
	if isTest {
		f.addSubtests(s, decl.Type, map[string]bool{})
	}
}

// addExamples notes the examples that go test runs: those that say what they
// print. The others are only compiled.
func (f *file) addExamples() {
	if !f.isTest() {
		return
	}
	for _, example := range doc.Examples(f.ast) {
		if example.Output == "" && !example.EmptyOutput {
			continue
		}
		for _, s := range f.symbols["Example"+example.Name] {
			s.test = s.name
			f.tests = append(f.tests, s)
		}
	}
}

func (f *file) addGroup(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				// The names of a group explain each other: it is cut whole.
				f.add(name.Name, decl, decl.Doc).withDoc = decl.Lparen.IsValid()
			}
		case *ast.TypeSpec:
			if decl.Lparen.IsValid() {
				f.add(spec.Name.Name, spec, spec.Doc)
			} else {
				f.add(spec.Name.Name, decl, decl.Doc)
			}
			for _, field := range members(spec.Type) {
				for _, name := range memberNames(field) {
					f.add(spec.Name.Name+"."+name, field, field.Doc)
				}
			}
		}
	}
}

// members are the fields of a struct or the methods of an interface.
func members(typ ast.Expr) []*ast.Field {
	switch typ := typ.(type) {
	case *ast.StructType:
		return typ.Fields.List
	case *ast.InterfaceType:
		return typ.Methods.List
	}
	return nil
}

// memberNames are the names that a field declares; an embedded one has that of
// its type.
func memberNames(field *ast.Field) []string {
	if len(field.Names) == 0 {
		if name := typeName(field.Type); name != "" {
			return []string{name}
		}
	}
	var names []string
	for _, name := range field.Names {
		names = append(names, name.Name)
	}
	return names
}

// typeName is the name of a type without its package, pointer and type
// arguments; nothing for a type that has none.
func typeName(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.Ident:
		return typ.Name
	case *ast.SelectorExpr:
		return typ.Sel.Name
	case *ast.StarExpr:
		return typeName(typ.X)
	case *ast.ParenExpr:
		return typeName(typ.X)
	case *ast.IndexExpr:
		return typeName(typ.X)
	case *ast.IndexListExpr:
		return typeName(typ.X)
	}
	return ""
}
