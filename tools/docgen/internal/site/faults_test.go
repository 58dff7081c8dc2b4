package site_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/browser"
)

// fault is something that a reader would suffer from: in the files whose names
// begin with in, a text becomes another, and the check has to say so.
type fault struct{ in, old, new, complaint string }

const foreignImage = `<img src="https://elsewhere.example/x.png" alt="x">`

// brokenPages are faults of what the pages show.
var brokenPages = []fault{
	{"assets/site.", "--soft: light-dark(#5d584e", "--soft: light-dark(#a9a59b", "023-locks.html (1280 px, light): the contrast is 2."},
	{"assets/site.", "--link: light-dark(#1f4ea3, #9dbcff", "--link: light-dark(#1f4ea3, #3b4a66", "index.html (360 px, dark): the contrast is "},
	{"assets/site.", ".dg-label, .dg-edge-label { fill: var(--ink)", ".dg-label, .dg-edge-label { fill: var(--shape-edge)", "less than 4.5: <tspan> leader"},
	{"assets/site.", ".facts { ", ".facts { width: 500px; ", "023-locks.html (360 px, light): it is "},
	{"assets/site.", "html:not(.js) .js-only", "html:not(.js) .claim", `(without scripts): "A paused leader is fenced" is missing`},
	{"assets/site.", "", "", `(without scripts): the button "Search" is shown, and does nothing`},

	{"030-", `aria-label="Dark theme"`, `aria-label=""`, "030-leases.html (360 px, light): a button has no name"},
	{"030-", `<h1>`, `<p>`, "it has 0 headings of level 1, not one"},
	{"030-", `<h2 id="renewing">`, `<h4 id="renewing">`, `the heading "Renewing" is of level 4, after one of level 2`},
	{"030-", `<nav aria-label="Site"`, `<nav aria-label="Breadcrumb"`, `two navigations are called "Breadcrumb"`},
	{"030-", `aria-label="Code: TestLease_APausedLeaderIsFenced"`, `aria-label=""`, "what scrolls has no role or no name: <pre"},
	{"030-", `<p class="edit">`, `<p class="edit" id="renewing" tabindex="1">`, "the id renewing occurs twice"},
	{"030-", "", "", "takes the order of the Tab key into its own hands"},
	{"030-", `<p class="summary">`, `<p class="summary">` + foreignImage, "Content Security Policy"},
	{"030-", "\tleases, clock", "    leases, clock", `copy button 1 gives "func`},

	{"107-", `<main `, `<main id="second"></main><main `, "it has 2 main landmarks, not one"},
	{"107-", `<main id="page`, `<script src="assets/gone.js"></script><main id="page`, "107-bare.html (1280 px, light): error: Failed to load resource"},
	{"107-", "", "", "107-bare.html (from disk): a request failed"},
	{"index", `http-equiv="Content-Security-Policy"`, `name="policy"`, "index.html (360 px, light): it asks another place for https://elsewhere.example/x.png"},
	{"index", `<p class="summary">`, `<p class="summary">` + foreignImage + `<script>throw new Error("broken")</script>`, "index.html (360 px, light): an exception: Error: broken"},
	{"topics", `<main `, `<button></button><main `, "topics.html (360 px, light): a button has no name"},
}

// brokenScripts are faults of what the scripts do.
var brokenScripts = []fault{
	{"assets/site.", "target.tabIndex = 0", "target.tabIndex = -1", "the keyboard can't scroll <pre"},
	{"assets/site.", "localStorage.setItem(", "void (", "the theme is forgotten when the page is loaded again"},
	{"assets/site.", "copier.focus();", "copier.blur();", "a copy button loses the focus"},
	{"assets/search.", "!(mac ? event.metaKey : event.ctrlKey)", "false", `the key "k" alone does something`},
	{"assets/search.", "ArrowDown: 1", "ArrowDown: 0", "the arrow does not go to the first result"},
	{"assets/search.", "location.protocol === 'file:'", "false", "the search does not say that it needs a server"},
	{"assets/search.", "rank(y) - rank(x)", "rank(x) - rank(y)", `the first result for "renewed leases" is `},
}

func TestCheck_SeesWhatIsBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes long, and -short is set")
	}
	b := browser.Start(t)
	for name, faults := range map[string][]fault{"pages": brokenPages, "scripts": brokenScripts} {
		t.Run(name, func(t *testing.T) {
			problems := checkSite(t, b, "/", newBook(t), faults)
			for _, f := range faults {
				seen := slices.ContainsFunc(problems, func(p browser.Problem) bool { return strings.Contains(p.String(), f.complaint) })
				require.True(t, seen, "none of %d problems says %q", len(problems), f.complaint)
			}
		})
	}
}

func spoil(t testing.TB, files map[string][]byte, f fault) {
	t.Helper()
	if f.old == "" { // the fault before makes this one too
		return
	}
	done := false
	for name, content := range files {
		if strings.HasPrefix(name, f.in) && bytes.Contains(content, []byte(f.old)) {
			files[name] = bytes.ReplaceAll(content, []byte(f.old), []byte(f.new))
			done = true
		}
	}
	require.True(t, done, "no file %s has %q", f.in, f.old)
}
