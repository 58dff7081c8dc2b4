package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/stretchr/testify/require"
)

// docgen calls docgen in a repository.
func docgen(t *testing.T, root, verb string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{verb, "-root", root}, args...), &out, &err)
	return code, out.String(), err.String()
}

func get(t *testing.T, file ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(file...))
	require.NoError(t, err)
	return string(content)
}

func edit(t *testing.T, root, name, old, with string) {
	t.Helper()
	content := get(t, root, name)
	require.Contains(t, content, old)
	repotest.Write(t, root, name, strings.Replace(content, old, with, 1))
}

const (
	article = "articles/107-rate-limits.md"
	summary = "How many a second."
	theTest = "samples/107-rate-limits/ratelimits_test.go"
)

// emptyRepository is one without a sample.
func emptyRepository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	repotest.Write(t, root, "go.mod", "module example.com/small\n\ngo 1.26\n")
	repotest.Write(t, root, "README.md", "# Small\n\n## The samples\n\n<!-- docgen:begin samples -->\n<!-- docgen:end samples -->\n\nMore.\n")
	repotest.Write(t, root, "relay/relay.go", "package relay\n")
	repotest.Write(t, root, "articles/topics.tsv", "topic\tarticle#heading\ttest\tcovers\n")
	return root
}

var emptySection = regexp.MustCompile(`(?m)^(## .*)\n\n?(^## |\z)`)

// newRepository has what docgen new leaves, written to the end.
func newRepository(t *testing.T) string {
	t.Helper()
	root := emptyRepository(t)
	code, stdout, stderr := docgen(t, root, "new", "107-rate-limits")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, article)
	edit(t, root, theTest, `t.Fatal("show what the sample guarantees, and its twin: what happens without it")`, `t.Log("at most ten a second")`)
	edit(t, root, article, `summary: ""`, "summary: "+summary)
	edit(t, root, article, "learn: []", "learn: [keep to a limit]")
	edit(t, root, article, "concepts: []", "concepts: [limits]")
	for text := get(t, root, article); emptySection.MatchString(text); text = get(t, root, article) {
		repotest.Write(t, root, article, emptySection.ReplaceAllString(text, "$1\n\nWritten.\n\n$2"))
	}
	edit(t, root, "articles/topics.tsv", "covers\n", "covers\nLimits\t107-rate-limits.md#overview\t"+theTest+"#TestRate_SaysWhatItGuarantees\t001.134\n")
	code, stdout, stderr = docgen(t, root, "gen")
	require.Zero(t, code, stdout+stderr)
	return root
}

func buildSite(t *testing.T, root string, more ...string) (out string, code int, stdout string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "site")
	code, stdout, stderr := docgen(t, root, "build", append([]string{"-o", out, "-base-url", "https://example.org/x/y/", "-rev", "abc"}, more...)...)
	return out, code, stdout + stderr
}

// files are the contents of a folder by their names.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found[strings.TrimPrefix(file, dir)] = get(t, file)
		}
		return err
	}))
	return found
}

func TestBuild_TwiceGivesTheSameBytes(t *testing.T) {
	root := newRepository(t)
	first, code, said := buildSite(t, root)
	require.Zero(t, code, said)
	second, code, said := buildSite(t, root)
	require.Zero(t, code, said)
	require.Equal(t, files(t, first), files(t, second))
}

func TestBuild_WritesInThePlaceOfAnEarlierBuildAndOverNothingElse(t *testing.T) {
	root := newRepository(t)
	out, code, said := buildSite(t, root)
	require.Zero(t, code, said)
	repotest.Write(t, out, "old.html", "from an earlier build")
	code, _, said = docgen(t, root, "build", "-o", out, "-base-url", "https://example.org/", "-rev", "abc")
	require.Zero(t, code, said)
	require.NoFileExists(t, filepath.Join(out, "old.html"))

	home := t.TempDir()
	repotest.Write(t, home, "letter.txt", "mine")
	code, _, said = docgen(t, root, "build", "-o", home, "-base-url", "https://example.org/", "-rev", "abc")
	require.Equal(t, 1, code)
	require.Contains(t, said, "did not write")
	require.FileExists(t, filepath.Join(home, "letter.txt"))
}

func TestBuild_WithFindingsWritesNothing(t *testing.T) {
	root := newRepository(t)
	edit(t, root, theTest, "func TestRate_SaysWhatItGuarantees", "func TestRate_SaysIt")
	out, code, said := buildSite(t, root)
	require.Equal(t, 1, code)
	require.Regexp(t, `(?m)^articles/107-rate-limits\.md:\d+:1: .*TestRate_SaysIt`, said, "the place, and what there is")
	require.Contains(t, said, "nothing was written")
	require.NoDirExists(t, out)
}

func TestBuild_CountsItsArticlesItsFilesAndTheTests(t *testing.T) {
	root := newRepository(t)
	out, code, said := buildSite(t, root)
	require.Zero(t, code)
	require.Regexp(t, `^1 article, \d+ files in `+regexp.QuoteMeta(out)+`\n$`, said, "nothing was recorded")

	edit(t, root, theTest, "func TestRate", "func TestSkips(t *testing.T) { t.Skip() }\n\nfunc TestFails(t *testing.T) { t.Fail() }\n\nfunc TestRate")
	edit(t, root, article, "concepts:", "unshown:\n  TestSkips: is skipped\n  TestFails: fails\nconcepts:")
	recorded := filepath.Join(t.TempDir(), "results.jsonl")
	code, _, stderr := docgen(t, root, "record", "-o", recorded)
	require.Zero(t, code, stderr)
	_, code, said = buildSite(t, root, "-tests", recorded)
	require.Zero(t, code)
	require.Regexp(t, `; tests: 1 passed, 1 skipped, 1 failed\n$`, said)
}

func TestCheck_WritesNothing(t *testing.T) {
	root := newRepository(t)
	before := files(t, root)
	code, stdout, _ := docgen(t, root, "check")
	require.Zero(t, code, stdout)
	require.Equal(t, before, files(t, root))
}

func TestCheck_GeneratedFileThatIsNotUpToDateIsAFinding(t *testing.T) {
	root := newRepository(t)
	edit(t, root, article, summary, "How to keep to a limit.")
	code, stdout, _ := docgen(t, root, "check")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "README.md:8:1: this is not what the articles say now; run make docs-gen")

	code, stdout, stderr := docgen(t, root, "gen")
	require.Zero(t, code, stdout+stderr)
	require.Contains(t, get(t, root, "README.md"), "How to keep to a limit.")
	after := files(t, root)
	code, _, _ = docgen(t, root, "gen")
	require.Zero(t, code)
	require.Equal(t, after, files(t, root), "gen is idempotent")
	code, stdout, _ = docgen(t, root, "check")
	require.Zero(t, code, stdout)
}

func TestGen_WithFindingsWritesNothing(t *testing.T) {
	root := newRepository(t)
	edit(t, root, article, summary, "")
	before := files(t, root)
	code, stdout, stderr := docgen(t, root, "gen")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "summary is missing")
	require.Equal(t, "nothing was written\n", stderr)

	edit(t, root, article, `summary: `, "summary: "+summary)
	edit(t, root, article, "The problem, in two", "[The problem][p], in two")
	edit(t, root, article, "## Testing", "## Testing\n\n[p]: https://example.org/")
	before[string(filepath.Separator)+article] = get(t, root, article)
	code, stdout, stderr = docgen(t, root, "gen")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "has no references", "what stands in the way of a README alone")
	require.Equal(t, "nothing was written\n", stderr)
	require.Equal(t, before, files(t, root))
}

func TestGen_WritesThroughNoLinkOutOfTheRepository(t *testing.T) {
	root, outside := newRepository(t), t.TempDir()
	repotest.Write(t, outside, "mine.md", "mine")
	sampleReadme := filepath.Join(root, "samples/107-rate-limits/README.md")
	require.NoError(t, os.Remove(sampleReadme))
	require.NoError(t, os.Symlink(filepath.Join(outside, "mine.md"), sampleReadme))
	code, _, stderr := docgen(t, root, "gen")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "samples/107-rate-limits/README.md")
	require.Equal(t, map[string]string{string(filepath.Separator) + "mine.md": "mine"}, files(t, outside))
}

func TestCheck_PatchThatDoesNotFitIsAFinding(t *testing.T) {
	root := newRepository(t)
	edit(t, root, article, "## Testing", "```diff breaks=TestRate_SaysWhatItGuarantees\n--- a/relay/relay.go\n+++ b/relay/relay.go\n@@ -1 +1 @@\n-package gone\n+package broken\n```\n\n## Testing")
	code, stdout, _ := docgen(t, root, "check")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "the patch does not fit relay/relay.go any more: the lines of hunk 1 (@@ -1,1 +1,1 @@)")
}

func TestCheck_InterruptedSaysSoAndFindsNothing(t *testing.T) {
	root := newRepository(t)
	edit(t, root, article, "## Testing", "```sh run\ntouch started; sleep 100\n```\n\n## Testing")
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(root, "started")); err == nil {
				interrupt()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run(ctx, []string{"check", "-root", root}, &stdout, &stderr))
	interrupt()
	require.Empty(t, stdout.String())
	require.Equal(t, "docgen check: interrupted\n", stderr.String())
}

func TestCheck_CommandThatPrintsSomethingElseIsAFinding(t *testing.T) {
	root := newRepository(t)
	edit(t, root, article, "## Testing", "```sh run\necho ten\n```\n\n```text output=run\neleven\n```\n\n## Testing")
	code, stdout, _ := docgen(t, root, "check")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "the command prints something else; put into the article what it prints:\n\tten\n")
}
