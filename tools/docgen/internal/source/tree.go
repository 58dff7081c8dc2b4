package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Tree is the repository. All of its methods may be called at the same time.
//
// It reads through os.Root and not through paths checked beforehand: a check of
// the text of a path does not see symbolic links.
type Tree struct {
	root *os.Root

	mu      sync.Mutex       // guards what follows
	files   map[string]*file // by path, as last read
	reading int              // how often Refresh was called
}

// Refresh begins a reading of the repository: until the next one a file that has
// been cut is not looked at again. A Tree that is never refreshed looks each
// time.
func (t *Tree) Refresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reading++
}

// Open opens the repository whose root is dir.
func Open(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Tree{root: root, files: map[string]*file{}}, nil
}

// Close releases the root. The tree reads nothing afterwards.
func (t *Tree) Close() error { return t.root.Close() }

// Read returns the text of the file at name, a path with slashes from the root.
// Line ends become LF and a byte order mark is dropped, so that a checkout on
// Windows gives the same site. A name that leads out of the repository, by ".."
// or by a symbolic link, is an error, and so is what is no text: UTF-8 without
// control characters.
func (t *Tree) Read(name string) ([]byte, error) {
	data, err := t.ReadBytes(name)
	if err != nil {
		return nil, err
	}
	if line := notText(data); line > 0 {
		return nil, fmt.Errorf("%s is not UTF-8 text in line %d: save it as UTF-8", name, line)
	}
	return normalise(data), nil
}

// ReadBytes returns what is in a file, such as an image, as it is.
func (t *Tree) ReadBytes(name string) ([]byte, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() { // a pipe would hang
		return nil, fmt.Errorf("%s is no file that can be read: name a regular one", name)
	}
	data, err := t.root.ReadFile(name)
	if err != nil {
		return nil, t.readError(name, err)
	}
	return data, nil
}

// notText is the first line that no text has; 0 when there is none.
func notText(data []byte) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return i + 1
		}
	}
	return 0
}

// Stat describes the file or folder at name.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	if err := inside(name); err != nil {
		return nil, err
	}
	info, err := t.root.Stat(name)
	if err != nil {
		return nil, t.readError(name, err)
	}
	return info, nil
}

// Files returns the paths of the files below dir, sorted. Hidden files and
// folders are left out, and so is what cannot be read inside the repository.
func (t *Tree) Files(dir string) ([]string, error) {
	info, err := t.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: name a folder", dir)
	}
	var files []string
	err = fs.WalkDir(t.root.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != dir && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case t.isFile(name, entry):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	slices.Sort(files)
	return files, nil
}

// isFile tells whether an entry is a file, or a link to one in the repository.
func (t *Tree) isFile(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := t.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// inside refuses a name that is not a clean path from the root. os.Root guards
// the border; this makes the message one that an author can act on.
func inside(name string) error {
	switch {
	case strings.HasPrefix(name, "/"):
		return fmt.Errorf("%s is an absolute path: write it from the repository's root", name)
	case slices.Contains(strings.Split(name, "/"), ".."):
		return fmt.Errorf("%s leads out of the folder that it starts in: write it without .. and from the repository's root", name)
	case !fs.ValidPath(name):
		return fmt.Errorf("%q is not a path that begins at the repository's root, such as samples/x/y_test.go", name)
	}
	return nil
}

// readError says what is at name instead of a file. It hides the place where
// the repository is checked out, which differs from one machine to the next.
func (t *Tree) readError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &missingError{name}
	}
	if info, statErr := t.root.Stat(name); statErr == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: name a file in it", name)
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("%s cannot be read: %w", name, err)
}

// missingError is an fs.ErrNotExist that says no more than the name.
type missingError struct{ name string }

func (e *missingError) Error() string { return e.name + " does not exist" }
func (e *missingError) Unwrap() error { return fs.ErrNotExist }

var byteOrderMark = []byte("\uFEFF")

func normalise(data []byte) []byte {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if !bytes.ContainsRune(data, '\r') {
		return data
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}
