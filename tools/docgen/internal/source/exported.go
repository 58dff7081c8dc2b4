package source

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"path"
	"strings"
)

// Exported returns the exported API of the package in dir, without its tests:
// Locker, ErrNotHeld, Term.Valid, Lock.Release (of an interface),
// LeaseElectorConfig.TTL (a field). What a type has from an embedded type of the
// same package counts as its own. Files count whatever their build tags.
func (t *Tree) Exported(dir string) (map[string]bool, error) {
	if _, err := t.Stat(dir); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(t.root.FS(), dir)
	if err != nil {
		return nil, t.readError(dir, err)
	}
	api := api{names: map[string]bool{}, members: map[string]map[string]bool{}, embeds: map[string][]string{}}
	files := 0
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || ignored(entry.Name()) {
			continue
		}
		f, err := t.file(name)
		if err != nil {
			return nil, err
		}
		if f.syntax != nil {
			return nil, fmt.Errorf("%s is not Go that can be parsed: %w", name, f.syntax)
		}
		files++
		for _, decl := range f.ast.Decls {
			api.add(decl)
		}
	}
	if files == 0 {
		return nil, fmt.Errorf("%s has no Go files besides tests: name the folder of a package", dir)
	}
	return api.exported(), nil
}

// api is what a package declares.
type api struct {
	names   map[string]bool            // at the top level
	members map[string]map[string]bool // by type, exported or not: an embedded type may be unexported
	embeds  map[string][]string        // by type: the names of the types that it embeds
}

func (a *api) add(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			a.names[decl.Name.Name] = true
		} else if typ, method, ok := strings.Cut(funcName(decl), "."); ok {
			a.addMember(typ, method)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					a.names[name.Name] = true
				}
			case *ast.TypeSpec:
				a.addType(spec)
			}
		}
	}
}

func (a *api) addType(spec *ast.TypeSpec) {
	name := spec.Name.Name
	a.names[name] = true
	for _, field := range members(spec.Type) {
		for _, member := range memberNames(field) {
			a.addMember(name, member)
		}
		if embedded := typeName(field.Type); len(field.Names) == 0 && embedded != "" {
			a.embeds[name] = append(a.embeds[name], embedded)
		}
	}
}

func (a *api) addMember(typ, member string) {
	if a.members[typ] == nil {
		a.members[typ] = map[string]bool{}
	}
	a.members[typ][member] = true
}

func (a *api) exported() map[string]bool {
	exported := map[string]bool{}
	for name := range a.names {
		if !ast.IsExported(name) {
			continue
		}
		exported[name] = true
		all := map[string]bool{}
		a.collect(name, all, map[string]bool{})
		for member := range all {
			if ast.IsExported(member) {
				exported[name+"."+member] = true
			}
		}
	}
	return exported
}

// collect adds the members of a type and of those that it embeds. A type may
// embed itself through a pointer, hence seen.
func (a *api) collect(typ string, into, seen map[string]bool) {
	if seen[typ] {
		return
	}
	seen[typ] = true
	maps.Copy(into, a.members[typ])
	for _, embedded := range a.embeds[typ] {
		a.collect(embedded, into, seen)
	}
}
