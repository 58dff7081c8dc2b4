package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/stretchr/testify/require"
)

// served is docgen serve at work.
type served struct {
	t     *testing.T
	lines *bufio.Scanner
	base  string
}

func newServed(t *testing.T, root string, more ...string) *served {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	output, input := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"serve", "-root", root, "-addr", "127.0.0.1:0"}, more...), input, input)
		_ = input.Close()
	}()
	t.Cleanup(func() {
		stop()
		go func() { _, _ = io.Copy(io.Discard, output) }()
		require.Zero(t, <-ended)
	})
	s := &served{t: t, lines: bufio.NewScanner(output)}
	s.base = s.next(`http://\S+/`)
	return s
}

// next waits until it says something.
func (s *served) next(pattern string) string {
	s.t.Helper()
	for s.lines.Scan() {
		if m := regexp.MustCompile(pattern).FindString(s.lines.Text()); m != "" {
			return m
		}
	}
	require.FailNow(s.t, "docgen serve never said "+pattern)
	return ""
}

// shows waits until a page has a text. One edit can be two changes, and so two
// builds.
func (s *served) shows(path, text string) {
	s.t.Helper()
	for {
		if _, page := s.fetch(path); strings.Contains(page, text) {
			return
		}
		s.next(`built in|^\S+:\d+:\d+: `)
	}
}

func (s *served) fetch(path string) (int, string) {
	s.t.Helper()
	response, err := http.Get(s.base + path)
	require.NoError(s.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(content)
}

// A page is served, built anew when its article changes, and told to reload;
// while something is wrong it shows what.
func TestServe_RebuildsOnChangeAndReloadsThePage(t *testing.T) {
	root := newRepository(t)
	s := newServed(t, root)
	status, page := s.fetch("107-rate-limits.html")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Rate limits")
	status, _ = s.fetch("nothing.html")
	require.Equal(t, http.StatusNotFound, status)

	events, err := http.Get(s.base + "_live")
	require.NoError(t, err)
	defer events.Body.Close()
	news := bufio.NewScanner(events.Body)
	require.True(t, news.Scan(), "it listens")

	edit(t, root, article, "The problem, in two to four sentences that stand alone.", "See `relay.Nothing`.")
	s.next("relay.Nothing is no exported name")
	status, page = s.fetch("107-rate-limits.html")
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, page, "relay.Nothing is no exported name", "the page says what is wrong")
	for news.Text() != "data: built" {
		require.True(t, news.Scan(), "the page that was open is told")
	}

	edit(t, root, article, "See `relay.Nothing`.", "Ten a second.")
	s.shows("107-rate-limits.html", "Ten a second.")
}

// Switching branches takes folders away and brings them back.
func TestServe_GoesOnWhenAFolderHasGoneAndComeBack(t *testing.T) {
	root := newRepository(t)
	s := newServed(t, root)
	for _, folder := range []string{"articles", "samples"} {
		from, to := filepath.Join(root, folder), filepath.Join(root, "away")
		require.NoError(t, os.Rename(from, to))
		s.next("articles|samples")
		require.NoError(t, os.Rename(to, from))
		s.next("built in")
		edit(t, root, article, "alone.", "alone. Once more.")
		s.shows("107-rate-limits.html", "Once more.")
		edit(t, root, article, " Once more.", "")
		s.next("built in")
	}
	edit(t, root, theTest, "at most ten", "at most nine")
	s.shows("107-rate-limits.html", "at most nine")
}

func TestServe_SeesAPictureFromAnywhereChange(t *testing.T) {
	root := newRepository(t)
	repotest.Write(t, root, "docs/deep/picture.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>one</title></svg>\n")
	edit(t, root, article, "alone.", "alone.\n\n![A picture](../docs/deep/picture.svg)")
	s := newServed(t, root)
	edit(t, root, "docs/deep/picture.svg", "one", "two")
	s.next("built in")
	_, page := s.fetch("107-rate-limits.html")
	_, picture := s.fetch(regexp.MustCompile(`images/[^"]+`).FindString(page))
	require.Contains(t, picture, "two")
}

// Results of other sources would stop a build. Here they are left out until the
// tests have been recorded again.
func TestServe_LeavesOutStaleResultsAndTakesNewOnes(t *testing.T) {
	root := newRepository(t)
	recorded := filepath.Join(root, "build", "results.jsonl")
	record := func() {
		code, _, stderr := docgen(t, root, "record", "-o", recorded)
		require.Zero(t, code, stderr)
	}
	record()
	s := newServed(t, root, "-tests", recorded)
	markdown := func() string {
		status, text := s.fetch("107-rate-limits.md")
		require.Equal(t, http.StatusOK, status)
		return text
	}
	require.Contains(t, markdown(), "when this page was made: passed")

	edit(t, root, theTest, "at most ten", "at most nine")
	s.next("built in")
	require.Contains(t, markdown(), "when this page was made: not run")
	status, _ := s.fetch("107-rate-limits.html")
	require.Equal(t, http.StatusOK, status)

	record()
	s.next("built in")
	require.Contains(t, markdown(), "when this page was made: passed")

	require.NoError(t, os.RemoveAll(filepath.Dir(recorded)))
	s.next("built in")
	require.Contains(t, markdown(), "when this page was made: not run")
}

func TestServe_ResultsThatAreNotThereAreAnError(t *testing.T) {
	code, _, stderr := docgen(t, newRepository(t), "serve", "-addr", "127.0.0.1:0", "-tests", "/none.jsonl")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "docgen record -o /none.jsonl records them")
}
