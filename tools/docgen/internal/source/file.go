package source

import (
	"bytes"
	"go/token"
	"path"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
)

// file is a file of the tree, taken apart once for all of its snippets.
type file struct {
	path    string
	src     []byte
	reading int // in which it was last looked at; guarded by the tree

	lines   [][]byte     // of src, without line ends; line 1 is lines[0]
	literal map[int]bool // lines that begin inside a raw string: their blanks are the program's, not the layout's
	hidden  map[int]bool // lines of region markers: never shown

	regions  []Region
	findings []finding.Finding // what is wrong with the markers
	broken   map[string]string // by region: what is wrong with it

	syntax error // why a Go file could not be parsed; then nothing can be cut
	goFile       // zero for other languages
}

// file returns the file at name, read now and parsed again only if it changed:
// a rebuild after one edit pays for one file.
func (t *Tree) file(name string) (*file, error) {
	t.mu.Lock()
	known, reading := t.files[name], t.reading
	if known != nil && reading > 0 && known.reading == reading {
		t.mu.Unlock()
		return known, nil
	}
	t.mu.Unlock()
	src, err := t.Read(name)
	if err != nil {
		return nil, err
	}

	// Outside the mutex: two goroutines may parse the same file, neither waits.
	if known == nil || !bytes.Equal(known.src, src) {
		known = parse(name, src)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	known.reading = reading
	t.files[name] = known
	return known, nil
}

func parse(name string, src []byte) *file {
	f := &file{
		path:    name,
		src:     src,
		lines:   bytes.Split(bytes.TrimSuffix(src, []byte("\n")), []byte("\n")),
		literal: map[int]bool{},
		hidden:  map[int]bool{},
		broken:  map[string]string{},
	}
	if !f.isGo() {
		f.pair(f.commentMarkers())
		return f
	}
	f.fset = token.NewFileSet()
	f.syntax = f.parseGo()
	if f.syntax == nil {
		f.pair(f.goMarkers())
	}
	return f
}

func (f *file) isGo() bool { return path.Ext(f.path) == ".go" }

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// languages are the names that fences and highlighters use, by what a file's
// name ends in, or by the whole of it.
var languages = map[string]string{
	".go":        "go",
	".sh":        "sh",
	".sql":       "sql",
	".lua":       "lua",
	".json":      "json",
	".jsonl":     "json",
	".yaml":      "yaml",
	".yml":       "yaml",
	".toml":      "toml",
	".md":        "markdown",
	".proto":     "proto",
	".html":      "html",
	".css":       "css",
	".js":        "js",
	".diff":      "diff",
	".patch":     "diff",
	".mk":        "make",
	"Makefile":   "make",
	"Dockerfile": "docker",
}

func language(name string) string {
	for _, key := range []string{path.Base(name), path.Ext(name)} {
		if lang, ok := languages[key]; ok {
			return lang
		}
	}
	return "text"
}
