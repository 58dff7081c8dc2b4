package relay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/relay-samples/relay-go"

// listedPackage is what these tests read of `go list -json`.
type listedPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Module     *struct{ Path string }
}

func goList(t *testing.T, args ...string) []listedPackage {
	t.Helper()
	out := runGo(t, ".", append([]string{"list", "-json=ImportPath,Standard,Imports,Module"}, args...)...)
	var found []listedPackage
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var p listedPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		found = append(found, p)
	}
}

// otherModules returns the modules, this one aside, that packages come from.
func otherModules(packages []listedPackage) []string {
	seen := map[string]bool{}
	for _, p := range packages {
		if !p.Standard && p.Module != nil && p.Module.Path != module {
			seen[p.Module.Path] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func TestCore_ImportsTheStandardLibraryAlone(t *testing.T) {
	for _, core := range []string{module + "/relay", module + "/relay/memory"} {
		packages := goList(t, "-deps", core)
		require.NotEmpty(t, packages)
		require.Empty(t, otherModules(packages), "%s must be copied without a dependency", core)
	}
}

func TestPostgres_BringsPgxsModulesAndNoOthers(t *testing.T) {
	pgx := requirements(t, "github.com/jackc/pgx/v5/pgxpool")
	got := requirements(t, module+"/relay", module+"/relay/postgres")
	require.Contains(t, got, "github.com/jackc/pgx/v5")
	require.Subset(t, pgx, got, "whatever the samples and tools need, a user of relay and relay/postgres gains pgx alone")
}

// requirements returns the modules, this one aside, that the go.mod of a
// program names once it imports packages: what its author sees and has to keep.
func requirements(t *testing.T, packages ...string) []string {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	program := "package main\n\nfunc main() {}\n"
	for _, p := range packages {
		program = strings.Replace(program, "\n\n", "\n\nimport _ \""+p+"\"\n", 1)
	}
	files := map[string]string{
		// The versions are this module's own, so that nothing has to be fetched.
		"go.mod": strings.Replace(string(mod), "module "+module, "module example.com/user", 1) +
			"\nrequire " + module + " v0.0.0\nreplace " + module + " => " + root + "\n",
		"main.go": program,
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	files["go.sum"] = string(sums)
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	runGo(t, dir, "mod", "tidy")
	var edited struct{ Require []struct{ Path string } }
	require.NoError(t, json.Unmarshal([]byte(runGo(t, dir, "mod", "edit", "-json")), &edited))
	var found []string
	for _, r := range edited.Require {
		if r.Path != module {
			found = append(found, r.Path)
		}
	}
	return found
}

func runGo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return string(out)
}

func TestTestPackages_AreImportedByTestsAlone(t *testing.T) {
	kits := []string{module + "/relay/relaytest", module + "/internal/pgtest"}
	for _, p := range goList(t, module+"/...") {
		if strings.HasPrefix(p.ImportPath, module+"/internal/pgtest/") || p.ImportPath == module+"/tools/chaos" {
			continue // the kit's own command, and a program that is a test
		}
		for _, kit := range kits {
			require.NotContains(t, p.Imports, kit, "%s imports a test kit outside its tests", p.ImportPath)
		}
	}
}

// TestAPI_IsTheOneThatWasAgreed keeps the exported surface in a file, so that a
// change of it shows in review. RELAY_UPDATE_API=1 writes the file anew.
func TestAPI_IsTheOneThatWasAgreed(t *testing.T) {
	var api strings.Builder
	for _, dir := range []string{".", "memory", "postgres", "relaytest"} {
		writeAPI(t, &api, dir)
	}
	golden := filepath.Join("testdata", "api.txt")
	if os.Getenv("RELAY_UPDATE_API") == "1" {
		require.NoError(t, os.WriteFile(golden, []byte(api.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), api.String(), "the exported API changed: read the difference, then run this test with RELAY_UPDATE_API=1")
}

// writeAPI writes every exported declaration of a package, without its comments
// and bodies, and requires a doc comment of each.
func writeAPI(t *testing.T, w io.Writer, dir string) {
	t.Helper()
	fset := token.NewFileSet()
	entries, err := fs.Glob(os.DirFS(dir), "*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range entries {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, module+"/"+dir)
	require.NoError(t, err)
	require.NotEmpty(t, p.Doc, "package %s has no doc comment", p.Name)

	show := func(what string, comment string, decl ast.Decl) {
		require.NotEmpty(t, comment, "%s.%s is exported and has no doc comment", p.Name, what)
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body, f.Doc = nil, nil
		}
		if g, ok := decl.(*ast.GenDecl); ok {
			stripComments(g)
		}
		var out bytes.Buffer
		require.NoError(t, format.Node(&out, fset, decl))
		for line := range strings.Lines(out.String()) {
			if strings.TrimSpace(line) != "" {
				_, _ = io.WriteString(w, p.Name+": "+strings.TrimRight(line, "\n")+"\n")
			}
		}
	}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			show(v.Names[0], v.Doc, v.Decl)
		}
	}
	funcs := func(fs []*doc.Func, recv string) {
		for _, f := range fs {
			show(recv+f.Name, f.Doc, f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs, "")
	for _, typ := range p.Types {
		show(typ.Name, typ.Doc, typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs, "")
		funcs(typ.Methods, typ.Name+".")
	}
}

// stripComments removes what is not part of the surface.
func stripComments(g *ast.GenDecl) {
	g.Doc = nil
	ast.Inspect(g, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
}
