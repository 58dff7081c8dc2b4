package relaygo_test

import (
	"os"
	"os/exec"
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

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// A link of a sample's README is copied out of its article, which stands in
// another folder.
func TestReadmes_LinksLeadToWhatExists(t *testing.T) {
	readmes, err := filepath.Glob("samples/*/README.md")
	require.NoError(t, err)
	require.NotEmpty(t, readmes)
	for _, file := range append(readmes, "README.md") {
		links := link.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, file), ""), -1)
		require.NotEmpty(t, links, file)
		for _, found := range links {
			if strings.Contains(found[1], "://") {
				continue
			}
			name, fragment, _ := strings.Cut(found[1], "#")
			to := file
			if name != "" {
				to = filepath.Join(filepath.Dir(file), name)
			}
			require.FileExists(t, exists(t, to), "%s: %s", file, found[1])
			if fragment != "" && filepath.Ext(to) == ".md" {
				require.Contains(t, fragments(read(t, to)), fragment, "%s: %s", file, found[1])
			}
		}
	}
}

// fragments are the names that GitHub gives to a text's headings.
func fragments(markdown string) []string {
	var names []string
	for _, found := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(markdown, ""), -1) {
		names = append(names, strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	return names
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

// block returns the first fenced block of a language that contains text.
func block(t *testing.T, language, text string) string {
	t.Helper()
	for _, found := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(read(t, "README.md"), -1) {
		if strings.Contains(found[1], text) {
			return found[1]
		}
	}
	require.FailNow(t, "the README has no such block", text)
	return ""
}

// inNewModule returns the folder of a new module, beside a clone of ours.
func inNewModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(".")
	require.NoError(t, err)
	parent := t.TempDir()
	require.NoError(t, os.Symlink(root, filepath.Join(parent, "relay-go")))
	dir := filepath.Join(parent, "service")
	require.NoError(t, os.Mkdir(dir, 0o755))
	// Our versions, so that nothing has to be fetched.
	mod := strings.Replace(read(t, "go.mod"), "module github.com/relay-samples/relay-go", "module example.com/service", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), []byte(read(t, "go.sum")), 0o644))
	return dir
}

func inShell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
}

func TestReadme_ItsCommandsCopyRelayIntoAnotherModule(t *testing.T) {
	dir := inNewModule(t)
	inShell(t, dir, block(t, "sh", "cp -r ../relay-go/relay ."))
	inShell(t, dir, "go build ./relay/... && ! grep -rq relay-samples .")
	require.NotContains(t, read(t, filepath.Join(dir, "go.mod")), "testcontainers", "the code needs none of our test packages")
}

func TestReadme_ItsProgramCompiles(t *testing.T) {
	dir := inNewModule(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(block(t, "go", "package main")), 0o644))
	inShell(t, dir, `
		go mod edit -require=github.com/relay-samples/relay-go@v0.0.0 -replace=github.com/relay-samples/relay-go=../relay-go
		go mod tidy
		go vet .
		test -z "$(gofmt -l main.go)"`)
}

func TestReadme_ListsEverySample(t *testing.T) {
	readme := read(t, "README.md")
	samples, err := filepath.Glob("samples/*")
	require.NoError(t, err)
	for _, sample := range samples {
		require.Contains(t, readme, "| ["+filepath.Base(sample)+"]("+sample+") |", "the index of samples forgets one")
	}
}
