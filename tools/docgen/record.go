package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

// record runs the tests of all samples and keeps what go test says.
func record(ctx context.Context, c *call) error {
	out := c.flags.String("o", "results.jsonl", "the `file` to write to")
	if err := c.parse(0); err != nil {
		return err
	}
	if *out == "" {
		return c.misuse("-o is empty: the file to write to, such as build/results.jsonl")
	}
	if err := replaceable(*out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*out), 0o755); err != nil {
		return err
	}
	// Into its place only when it is whole.
	file, err := os.CreateTemp(filepath.Dir(*out), ".results-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	err = errors.Join(file.Chmod(0o644), results.Record(ctx, c.root, []string{"./samples/..."}, file, c.stderr))
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), *out)
}

// replaceable wants nothing in a file's place, or an ordinary file: a rename
// would put the results in the place of a device as well.
func replaceable(out string) error {
	info, err := os.Lstat(out)
	switch {
	case os.IsPathSeparator(out[len(out)-1]), err == nil && info.IsDir():
		return fmt.Errorf("-o %s is a folder; name a file in it", out)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("-o %s is no ordinary file; name another one", out)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}
