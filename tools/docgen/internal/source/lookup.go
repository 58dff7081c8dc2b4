package source

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// symbol returns what name selects in f.
func (t *Tree) symbol(f *file, name string) (*symbol, error) {
	key := name
	if strings.Contains(name, "/") {
		key = rewrite(name)
	}
	switch found := f.symbols[key]; len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, t.missing(f, key)
	case 2:
		return nil, fmt.Errorf("%s is in %s twice: lines %d and %d; give one of them another name",
			name, f.path, found[0].start, found[1].start)
	default:
		return nil, fmt.Errorf("%s is in %s %d times, first on lines %d and %d; give each a name of its own",
			name, f.path, len(found), found[0].start, found[1].start)
	}
}

// lineFragment is what GitHub puts behind # when somebody clicks on a line.
var lineFragment = regexp.MustCompile(`^L\d+(C\d+)?(-L\d+(C\d+)?)?$`)

// missing says what there is instead of name.
func (t *Tree) missing(f *file, name string) error {
	if lineFragment.MatchString(name) {
		return fmt.Errorf("%s#%s names lines, which move with the next edit: name a function, or a region", f.path, name)
	}
	names := slices.Sorted(maps.Keys(f.symbols))
	if other := t.sibling(f.path, name); other != "" {
		return fmt.Errorf("no %s in %s: it is in %s", name, f.path, other)
	}
	parent, _, isSubtest := strings.Cut(name, "/")
	if isSubtest && f.symbols[parent] != nil {
		names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, parent+"/") })
		if len(names) == 0 {
			return fmt.Errorf("no %s in %s: %s has no t.Run whose name is a literal; embed the test, or a region of it",
				name, f.path, parent)
		}
	}
	return fmt.Errorf("no %s in %s%s", name, f.path, Instead(name, names))
}

// sibling is the one other Go file of the folder that has name, if there is
// one: tests move from file to file.
func (t *Tree) sibling(not, name string) string {
	dir := path.Dir(not)
	entries, err := fs.ReadDir(t.root.FS(), dir)
	if err != nil {
		return ""
	}
	for _, entry := range entries {
		other := path.Join(dir, entry.Name())
		if entry.IsDir() || path.Ext(other) != ".go" || other == not {
			continue
		}
		if f, err := t.file(other); err == nil && len(f.symbols[name]) == 1 {
			return other
		}
	}
	return ""
}

const (
	mostNear   = 3 // names offered for a misspelt one
	mostListed = 6 // names listed when none is near
)

// Instead ends an error about a name that is not among names: with those that
// are near it, or else with what there is.
func Instead(name string, names []string) string {
	if near := nearest(name, names); len(near) > 0 {
		return "; did you mean " + enumerate(near, "or") + "?"
	}
	switch {
	case len(names) == 0:
		return ": there is nothing in it that can be named"
	case len(names) > mostListed:
		more := fmt.Sprintf("%d more", len(names)-mostListed+1)
		names = append(slices.Clone(names[:mostListed-1]), more)
	}
	return ": there is " + enumerate(names, "and")
}

func enumerate(names []string, conjunction string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// nearest returns the names that somebody may have meant, the nearest first.
func nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, n := range names {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		part := min(len(n), len(name)) >= 4 && (strings.Contains(n, name) || strings.Contains(name, n))
		if part || d <= max(1, len(name)/4) {
			near = append(near, candidate{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var found []string
	for _, c := range near[:min(len(near), mostNear)] {
		found = append(found, c.name)
	}
	return found
}

// distance is Levenshtein's: how many letters to add, drop or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
