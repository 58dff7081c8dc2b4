package results

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// format is the version of the file that this package writes and reads.
const format = 1

// header is the first line of a results file.
type header struct {
	Docgen   int       `json:"docgen"`
	Go       string    `json:"go"`
	Packages []*tested `json:"packages"`
}

// tested is a package whose tests were run.
type tested struct {
	Package string            `json:"package"` // import path, as go test's events have it
	Dir     string            `json:"dir"`     // from the repository's root
	Tests   []string          `json:"tests"`   // at the top level, run or not
	Sources map[string]string `json:"sources"` // hashes by folder, and of moduleFiles
}

// moduleFiles stands among the folders for go.mod and go.sum: what they say
// decides which code of others a test runs.
const moduleFiles = "go.mod"

// Stale is a package whose results are not those of the sources at hand.
type Stale struct {
	Dir  string
	Why  string // which folders changed
	Line int    // of the results file
}

// Stale returns the packages whose sources, or those of a package of ours that
// they use, are not what they were when their tests ran; by folder.
func (s *Set) Stale(t *source.Tree) []Stale {
	if s == nil {
		return nil
	}
	hashes := newHashes(t)
	var stale []Stale
	for _, p := range s.packages {
		var changed []string
		for _, folder := range slices.Sorted(maps.Keys(p.Sources)) {
			switch hash, err := hashes.of(folder); {
			case errors.Is(err, fs.ErrNotExist):
				changed = append(changed, folder+" is gone")
			case err != nil:
				changed = append(changed, err.Error())
			case hash != p.Sources[folder]:
				changed = append(changed, folder+" has changed")
			}
		}
		if len(changed) > 0 {
			stale = append(stale, Stale{Dir: p.Dir, Why: strings.Join(changed, ", "), Line: 1})
		}
	}
	return stale
}
