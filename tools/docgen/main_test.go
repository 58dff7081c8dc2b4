package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docgen calls docgen in a repository.
func docgen(t *testing.T, root, verb string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{verb, "-root", root}, args...), &out, &err)
	return code, out.String(), err.String()
}

func put(t testing.TB, root, name, content string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
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
	put(t, root, name, strings.Replace(content, old, with, 1))
}

const (
	article = "articles/107-rate-limits.md"
	theTest = "samples/107-rate-limits/rate_limits_test.go"
)

// newRepository is what docgen new leaves, with its test made to pass.
func newRepository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	put(t, root, "go.mod", "module example.com/small\n\ngo 1.26\n")
	put(t, root, "README.md", "# Small\n\n## The samples\n\n<!-- docgen:begin samples -->\n<!-- docgen:end samples -->\n\nMore.\n")
	put(t, root, "relay/relay.go", "package relay\n")
	put(t, root, "articles/topics.tsv", "topic\tarticle#heading\ttest\tcovers\nLimits\t107-rate-limits.md#overview\t"+theTest+"#TestRate_SaysWhatItGuarantees\t001.134\n")
	code, stdout, stderr := docgen(t, root, "new", "107-rate-limits")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, article)
	edit(t, root, theTest, `t.Fatal("show what the sample guarantees, and its twin: what happens without it")`, `t.Log("at most ten a second")`)
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

func TestNew_WhatItWritesIsInOrderButForItsTest(t *testing.T) {
	root := newRepository(t)
	code, stdout, stderr := docgen(t, root, "check")
	require.Zero(t, code, stdout+stderr)

	code, _, stderr = docgen(t, root, "new", "107-rate-limits")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "exists; nothing was written")

	code, _, stderr = docgen(t, root, "new", "Rate Limits")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "107-rate-limits", "it says what a name looks like")
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
	put(t, out, "old.html", "from an earlier build")
	code, _, said = docgen(t, root, "build", "-o", out, "-base-url", "https://example.org/", "-rev", "abc")
	require.Zero(t, code, said)
	require.NoFileExists(t, filepath.Join(out, "old.html"))

	home := t.TempDir()
	put(t, home, "letter.txt", "mine")
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
	require.NoDirExists(t, out)
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
	edit(t, root, article, "What a reader gets from this page, in one sentence.", "How to keep to a limit.")
	code, stdout, _ := docgen(t, root, "check")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "README.md:8:1: this is not what the articles say now; run make docs-gen")

	code, stdout, stderr := docgen(t, root, "gen")
	require.Zero(t, code, stdout+stderr)
	require.Contains(t, get(t, root, "README.md"), "how to keep to a limit.")
	after := files(t, root)
	code, _, _ = docgen(t, root, "gen")
	require.Zero(t, code)
	require.Equal(t, after, files(t, root), "gen is idempotent")
	code, stdout, _ = docgen(t, root, "check")
	require.Zero(t, code, stdout)
}

func TestCheck_CommandThatPrintsSomethingElseIsAFinding(t *testing.T) {
	root := newRepository(t)
	edit(t, root, article, "## Testing", "```sh run\necho ten\n```\n\n```text output=run\neleven\n```\n\n## Testing")
	code, stdout, _ := docgen(t, root, "check")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "the command prints something else:\nten\n")
}

func TestRecord_ResultsAreShownAndStaleOnesAreFindings(t *testing.T) {
	root := newRepository(t)
	recorded := filepath.Join(t.TempDir(), "build", "results.jsonl")
	code, _, stderr := docgen(t, root, "record", "-o", recorded)
	require.Zero(t, code, stderr)

	out, code, said := buildSite(t, root, "-tests", recorded)
	require.Zero(t, code, said)
	require.Contains(t, get(t, out, "107-rate-limits.md"), "passed")
	require.Contains(t, get(t, out, "107-rate-limits.html"), "at most ten a second", "what the test printed")

	unrecorded, code, said := buildSite(t, root)
	require.Zero(t, code, said)
	require.Contains(t, get(t, unrecorded, "107-rate-limits.md"), "not run")

	edit(t, root, theTest, "at most ten", "at most nine")
	_, code, said = buildSite(t, root, "-tests", recorded)
	require.Equal(t, 1, code)
	require.Regexp(t, `results\.jsonl:\d+:1: the results of samples/107-rate-limits were recorded from other sources`, said)

	_, code, said = buildSite(t, root, "-tests", recorded+"x")
	require.Equal(t, 1, code)
	require.Contains(t, said, "docgen record")
}

func TestRun_WrongUsageExitsWith2AndSaysWhat(t *testing.T) {
	root := newRepository(t)
	for says, args := range map[string][]string{
		"no verb":        {"publish"},
		"docgen build":   {},
		"-base-url":      {"build", "-root", root, "-rev", "abc"},
		"-rev":           {"build", "-root", root, "-base-url", "https://example.org/"},
		"not defined":    {"check", "-fast"},
		"takes 0":        {"check", "-root", root, "now"},
		"takes 1":        {"new", "-root", root},
		"example.org/re": {"build", "-root", root, "-base-url", "example.org", "-rev", "abc"},
	} {
		var out, err bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, &out, &err), "%v", args)
		require.Contains(t, err.String(), says)
	}
	var out, err bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"check", "-h"}, &out, &err))
}

// A page is served, built anew when its article changes, and told to reload;
// while something is wrong it shows what.
func TestServe_RebuildsOnChangeAndReloadsThePage(t *testing.T) {
	root := newRepository(t)
	ctx, stop := context.WithCancel(t.Context())
	output, input := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "-root", root, "-addr", "127.0.0.1:0"}, input, input)
		_ = input.Close()
	}()
	lines := bufio.NewScanner(output)
	next := func(pattern string) string {
		for lines.Scan() {
			if m := regexp.MustCompile(pattern).FindString(lines.Text()); m != "" {
				return m
			}
		}
		require.FailNow(t, "docgen serve never said "+pattern)
		return ""
	}
	base := next(`http://\S+/`)
	fetch := func(path string) (int, string) {
		response, err := http.Get(base + path)
		require.NoError(t, err)
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(content)
	}
	status, page := fetch("107-rate-limits.html")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Rate limits")
	status, _ = fetch("nothing.html")
	require.Equal(t, http.StatusNotFound, status)

	events, err := http.Get(base + "_live")
	require.NoError(t, err)
	defer events.Body.Close()
	news := bufio.NewScanner(events.Body)
	require.True(t, news.Scan(), "it listens")

	edit(t, root, article, "The problem, in two to four sentences that stand alone.", "See `relay.Nothing`.")
	next("relay.Nothing is no exported name")
	status, page = fetch("107-rate-limits.html")
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, page, "relay.Nothing is no exported name", "the page says what is wrong")
	for news.Text() != "data: built" {
		require.True(t, news.Scan(), "the page that was open is told")
	}

	edit(t, root, article, "See `relay.Nothing`.", "Ten a second.")
	next("built in")
	status, page = fetch("107-rate-limits.html")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Ten a second.")

	stop()
	go func() { _, _ = io.Copy(io.Discard, output) }()
	require.Zero(t, <-ended)
}
