package source

import (
	"cmp"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Test is a function that go test runs.
type Test struct {
	Name    string // TestX, FuzzX, ExampleX
	Path    string
	Line    int // where its func stands
	EndLine int
	Package string // as go test takes it: ./samples/x
	Doc     string // without comment marks; may be empty
}

// Tests returns the tests below dir, by package, file and line: of its own
// package and of those in folders below, such as cmd/leader. Fuzz tests are
// among them, for go test runs their seeds, and so are examples that say what
// they print. Folders that the go command passes over are passed over here.
func (t *Tree) Tests(dir string) ([]Test, error) {
	names, err := t.Files(dir)
	if err != nil {
		return nil, err
	}
	var tests []Test
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") || ignored(strings.TrimPrefix(name, dir+"/")) {
			continue
		}
		f, err := t.file(name)
		if err != nil {
			return nil, err
		}
		if f.syntax != nil {
			return nil, fmt.Errorf("%s is not Go that can be parsed: %w", name, f.syntax)
		}
		for _, s := range f.tests {
			tests = append(tests, Test{
				Name: s.name, Path: name, Line: s.start, EndLine: s.end, Package: packagePath(name), Doc: s.doc.Text(),
			})
		}
	}
	slices.SortFunc(tests, func(a, b Test) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return tests, nil
}

// packagePath is the package of a file, as an argument of the go command.
func packagePath(name string) string {
	if dir := path.Dir(name); dir != "." {
		return "./" + dir
	}
	return "."
}

// ignored tells whether the go command passes over a file: because of its name,
// or of that of a folder that it is in.
func ignored(name string) bool {
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if strings.HasPrefix(part, "_") || strings.HasPrefix(part, ".") {
			return true
		}
	}
	return slices.Contains(parts[:len(parts)-1], "testdata")
}

// function names the function or method that a line is in.
func (f *file) function(line int) string {
	if f.ast == nil {
		return ""
	}
	for _, decl := range f.ast.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || line < f.line(fn.Pos()) || line > f.line(fn.End()) {
			continue
		}
		return funcName(fn)
	}
	return ""
}

// funcName is a function's name, with its receiver's type for a method.
func funcName(decl *ast.FuncDecl) string {
	if decl.Recv != nil && len(decl.Recv.List) == 1 {
		return typeName(decl.Recv.List[0].Type) + "." + decl.Name.Name
	}
	return decl.Name.Name
}
