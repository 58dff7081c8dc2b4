package results

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Dir        string
	DepOnly    bool
	ForTest    string
	Module     *struct{ Main bool }
	Deps       []string
}

// survey makes the header of a file: the packages, their tests, and the hashes
// of what they are made of.
func survey(ctx context.Context, dir string, tree *source.Tree, patterns []string) (*header, error) {
	all, err := list(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	h := &header{Docgen: format, Packages: []*tested{}}
	hashes := newHashes(tree)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		p := all[path]
		if p.DepOnly || p.ForTest != "" || strings.HasSuffix(p.ImportPath, testMain) {
			continue
		}
		t, err := surveyPackage(dir, tree, all, p)
		if err != nil {
			return nil, err
		}
		if t.Sources, err = hashes.all(t.Sources); err != nil {
			return nil, err
		}
		h.Packages = append(h.Packages, t)
	}
	if len(h.Packages) == 0 {
		return nil, fmt.Errorf("no packages match %s", strings.Join(patterns, " "))
	}
	return h, nil
}

// testMain ends the import path of the program that go test makes of a package
// and its tests.
const testMain = ".test"

// surveyPackage returns the package with the folders of its sources, not yet
// their hashes.
func surveyPackage(dir string, tree *source.Tree, all map[string]listed, p listed) (*tested, error) {
	folder, err := within(dir, p.Dir)
	if err != nil {
		return nil, err
	}
	t := &tested{Package: p.ImportPath, Dir: folder, Tests: []string{}, Sources: map[string]string{folder: "", moduleFiles: ""}}
	program, ok := all[p.ImportPath+testMain]
	if !ok {
		return t, nil // no tests: the go command builds nothing
	}
	for _, dep := range program.Deps {
		// What is compiled anew for a test has the test behind its path.
		path, _, _ := strings.Cut(dep, " [")
		used := all[path]
		if used.Module == nil {
			continue // Go's own, or the test program
		}
		switch folder, err := within(dir, used.Dir); {
		case err == nil:
			t.Sources[folder] = ""
		case used.Module.Main:
			return nil, err
		}
		// Where else a module comes from, go.sum has its hash.
	}
	tests, err := tree.Tests(folder)
	if err != nil {
		return nil, err
	}
	for _, test := range tests {
		if test.Package == "./"+folder || folder == "." && test.Package == "." {
			t.Tests = append(t.Tests, test.Name)
		}
	}
	return t, nil
}

// within is the folder's path from the repository's root.
func within(root, dir string) (string, error) {
	folder, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(folder) {
		return "", fmt.Errorf("%s is not below the root of the module: record from there", filepath.Base(dir))
	}
	return filepath.ToSlash(folder), nil
}

// list returns the packages that match, and all that their tests use, by import
// path.
func list(ctx context.Context, dir string, patterns []string) (map[string]listed, error) {
	args := append([]string{"list", "-test", "-deps", "-json=ImportPath,Dir,DepOnly,ForTest,Module,Deps"}, patterns...)
	out, err := command(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	all := map[string]listed{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all[p.ImportPath] = p
	}
}

// variables are what the go command says of itself.
type variables struct{ GOVERSION, GOROOT, GOMODCACHE string }

func environment(ctx context.Context, dir string) (variables, error) {
	var env variables
	out, err := command(ctx, dir, "env", "-json")
	if err != nil {
		return env, err
	}
	return env, json.Unmarshal(out, &env)
}

// command runs the go command and returns what it prints.
func command(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return nil, fmt.Errorf("go %s: %s", args[0], bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
