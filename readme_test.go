package relaygo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func TestReadme_ShowsWhatTheDemoPrints(t *testing.T) {
	story := read(t, "samples/fencing-demo/testdata/output.golden")
	require.Contains(t, read(t, "README.md"), "```text\n"+story+"```", "the demo's own test compares the same file with its output")
}

func TestReadme_NamesOnlyWhatExists(t *testing.T) {
	readme := read(t, "README.md")
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(readme, -1) {
		if !strings.Contains(link[1], "://") {
			require.FileExists(t, exists(t, link[1]), link[0])
		}
	}
	for _, path := range regexp.MustCompile(`\./samples/[\w./-]+`).FindAllString(readme, -1) {
		require.FileExists(t, exists(t, path))
	}
	makefile := read(t, "Makefile")
	for _, target := range regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)(?:$|`)").FindAllStringSubmatch(readme, -1) {
		require.Contains(t, makefile, "\n"+target[1]+": ", "the README says %q", target[0])
	}
	row := regexp.MustCompile("(?m)^\\|.*\\]\\((samples/[^)]+)\\), `([a-z_]+_test\\.go)`")
	found := row.FindAllStringSubmatch(readme, -1)
	require.NotEmpty(t, found)
	for _, m := range found {
		require.FileExists(t, filepath.Join(m[1], m[2]))
	}
}

// exists returns a file that stands for path: path itself, or one in it.
func exists(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	if !info.IsDir() {
		return path
	}
	entries, err := filepath.Glob(filepath.Join(path, "*.*"))
	require.NoError(t, err)
	if len(entries) == 0 { // a folder of folders
		entries, err = filepath.Glob(filepath.Join(path, "*", "*.*"))
		require.NoError(t, err)
	}
	require.NotEmpty(t, entries, "%s is empty", path)
	return entries[0]
}

func TestReadme_ListsEverySample(t *testing.T) {
	readme := read(t, "README.md")
	samples, err := filepath.Glob("samples/*")
	require.NoError(t, err)
	for _, sample := range samples {
		require.Contains(t, readme, "| ["+filepath.Base(sample)+"]("+sample+") |", "the index of samples forgets one")
	}
}
