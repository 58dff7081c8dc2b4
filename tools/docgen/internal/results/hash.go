package results

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// hashes are the hashes of folders, each computed once.
type hashes struct {
	tree  *source.Tree
	known map[string]string
}

func newHashes(t *source.Tree) *hashes { return &hashes{tree: t, known: map[string]string{}} }

// all returns the hashes of the folders that are keys.
func (h *hashes) all(folders map[string]string) (map[string]string, error) {
	hashes := map[string]string{}
	for folder := range folders {
		hash, err := h.of(folder)
		if err != nil {
			return nil, err
		}
		hashes[folder] = hash
	}
	return hashes, nil
}

// of returns the hash of a folder: of the names and contents of its files.
func (h *hashes) of(folder string) (string, error) {
	if hash, ok := h.known[folder]; ok {
		return hash, nil
	}
	files, err := h.files(folder)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	// With its length in front, no byte can move between two files unnoticed.
	write := func(data []byte) {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(data))))
		sum.Write(data)
	}
	for _, file := range files {
		data, err := h.tree.Read(file) // so that line ends do not count
		if err != nil {
			if data, err = h.tree.ReadBytes(file); err != nil { // what is no text
				return "", err
			}
		}
		write([]byte(file))
		write(data)
	}
	h.known[folder] = hex.EncodeToString(sum.Sum(nil))
	return h.known[folder], nil
}

// files returns the files that the package in a folder is made of: those in Go,
// what is in testdata, and what //go:embed names. Packages in folders below are
// packages of their own, and a README changes no result. Hidden files, which
// only "all:" embeds, are not looked at.
func (h *hashes) files(folder string) ([]string, error) {
	if folder == moduleFiles {
		return h.moduleFiles()
	}
	all, err := h.tree.Files(folder)
	if err != nil {
		return nil, err
	}
	var files, others []string
	var patterns []string
	for _, file := range all {
		name := strings.TrimPrefix(file, folder+"/")
		switch {
		case path.Ext(name) == ".go" && !strings.Contains(name, "/"):
			data, err := h.tree.Read(file)
			if err != nil {
				return nil, err
			}
			patterns = append(patterns, embedPatterns(data)...)
			files = append(files, file)
		case strings.HasPrefix(name, "testdata/"):
			files = append(files, file)
		default:
			others = append(others, file)
		}
	}
	for _, file := range others {
		if embedded(strings.TrimPrefix(file, folder+"/"), patterns) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files, nil
}

func (h *hashes) moduleFiles() ([]string, error) {
	files := []string{"go.mod"}
	switch _, err := h.tree.Stat("go.sum"); {
	case err == nil:
		files = append(files, "go.sum")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return files, nil
}

var (
	embedDirective = regexp.MustCompile(`(?m)^//go:embed[ \t]+(.+)$`)
	embedPattern   = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|\\S+")
)

// embedPatterns returns what the //go:embed directives of a file name.
func embedPatterns(src []byte) []string {
	var patterns []string
	for _, directive := range embedDirective.FindAllSubmatch(src, -1) {
		for _, pattern := range embedPattern.FindAllString(string(directive[1]), -1) {
			if unquoted, err := strconv.Unquote(pattern); err == nil {
				pattern = unquoted
			}
			patterns = append(patterns, strings.TrimPrefix(pattern, "all:"))
		}
	}
	return patterns
}

// embedded tells whether one of the patterns names the file, or a folder that
// it is in.
func embedded(name string, patterns []string) bool {
	for ; name != "."; name = path.Dir(name) {
		for _, pattern := range patterns {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
	}
	return false
}
