package readme_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/readme"
	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

const index = "# Small\n\n<!-- docgen:begin samples -->\nold\n<!-- docgen:end samples -->\n\nThe rest.\n"

// load returns a small book, whose repository has this README, and whose article
// 101-a is changed: each old text by the new one after it.
func load(t *testing.T, readme string, changes ...string) (*book.Book, *source.Tree, string) {
	t.Helper()
	for i := 0; i < len(changes); i += 2 {
		require.Contains(t, article, changes[i])
	}
	root := repotest.New(t, map[string]string{
		"go.mod":                  "module example.com/small\n\ngo 1.26\n",
		"README.md":               readme,
		"relay/doc.go":            "// Package relay is small.\npackage relay\n",
		"articles/topics.tsv":     "topic\tarticle#heading\ttest\tcovers\nA\t101-a.md#overview\t-\t000.001\nB\t102-b.md#overview\t-\t000.002\n",
		"samples/101-a/a_test.go": "package a_test\n\nimport \"testing\"\n\nfunc TestA_Holds(t *testing.T) {\n\tt.Run(\"once\", func(t *testing.T) { t.Log() })\n}\n\nfunc TestA_Dull(t *testing.T) {}\n",
		"samples/102-b/b_test.go": "package b_test\n\nimport \"testing\"\n\nfunc TestB_Lapses(t *testing.T) { t.Log() }\n",
		"articles/102-b.md":       "---\ntitle: Before\nsummary: What comes first.\ncategory: C\nlevel: beginner\nneeds: [postgres, redis]\nlearn: [b]\nconcepts: [b]\n---\n\n# Before\n\n## Overview\n\nB.\n\n[It lapses](../samples/102-b/b_test.go#TestB_Lapses \"embed\")\n",
		"articles/101-a.md":       strings.NewReplacer(changes...).Replace(article),
		"articles/picture.svg":    "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
	})
	tree := repotest.Open(t, root)
	b, err := book.NewLoader(tree).Load(book.Options{Module: "example.com/small", Repo: "https://example.com/small", Rev: "main"})
	require.NoError(t, err)
	require.Empty(t, b.Findings)
	return b, tree, root
}

const article = `---
title: Holding on
summary: How to hold on | and let go.
category: C
level: beginner
needs: []
after: [102-b]
learn: [a]
concepts: [a]
unshown:
  TestA_Dull: shows nothing
---

# Holding on

## Overview

Things do not hold, as [the package](../relay/doc.go) and [its test](../samples/101-a/a_test.go) say.

## Building it step by step

[It holds](../samples/101-a/a_test.go#TestA_Holds "embed")

[It holds once](../samples/101-a/a_test.go#TestA_Holds/once "embed")

## Complete source code

| File | Shows | Database? |
|---|---|---|
| [a_test.go](../samples/101-a/a_test.go) | holding | no |

## Running the example

` + "```sh run\ngo test ./samples/101-a\n```\n\n```text output=run\nok  \texample.com/small/samples/101-a\t0.002s\n```\n"

const wanted = `<!-- Written by make docs-gen from articles/101-a.md: edit that. -->

# Holding on

Things do not hold, as [the package](../../relay/doc.go) and [its test](a_test.go) say.

The article that explains it step by step: [Holding on](../../articles/101-a.md)

## Run it

From the root of the repository. Go is all it needs.

` + "```sh\ngo test ./samples/101-a\n```\n\n```text\nok  \texample.com/small/samples/101-a\t0.002s\n```" + `

## What the tests show

| Claim | Test |
|---|---|
| It holds | [` + "`TestA_Holds`" + `](a_test.go) |
| It holds once | [` + "`TestA_Holds/once`" + `](a_test.go) |

Tests that the article does not show:

- ` + "`TestA_Dull`" + `: shows nothing

## Files

| File | Shows | Database? |
|---|---|---|
| [a_test.go](a_test.go) | holding | no |

## Read on

- Read before: [Before](../../articles/102-b.md)
- [What the primitives promise](../../relay/doc.go)
- [All samples](../../README.md#the-samples)
`

func TestFiles_SampleHasItsProblemItsCommandItsClaimsAndItsFiles(t *testing.T) {
	b, tree, _ := load(t, index)
	files, findings := readme.Files(b, tree)
	require.Empty(t, findings)
	require.Equal(t, wanted, string(files["samples/101-a/README.md"]))
}

func TestFiles_IndexListsEverySampleAndLeavesTheRestOfTheReadmeAlone(t *testing.T) {
	b, tree, _ := load(t, index)
	files, findings := readme.Files(b, tree)
	require.Empty(t, findings)
	require.Equal(t, `# Small

<!-- docgen:begin samples -->
| Sample | Article | Needs |
|---|---|---|
| [101-a](samples/101-a) | [Holding on](articles/101-a.md). How to hold on \| and let go. | Go |
| [102-b](samples/102-b) | [Before](articles/102-b.md). What comes first. | Go; PostgreSQL, Redis for some tests |
<!-- docgen:end samples -->

The rest.
`, string(files["README.md"]))
}

// sampleReadme is the README of 101-a, whose article is changed.
func sampleReadme(t *testing.T, changes ...string) string {
	t.Helper()
	b, tree, _ := load(t, index, changes...)
	files, findings := readme.Files(b, tree)
	require.Empty(t, findings)
	return string(files["samples/101-a/README.md"])
}

const overview = "Things do not hold, as [the package](../relay/doc.go) and [its test](../samples/101-a/a_test.go) say."

func TestFiles_LinksOfTheOverviewLeadToTheSameFiles(t *testing.T) {
	for link, want := range map[string]string{
		"[steps](#overview)":                            "[steps](../../articles/101-a.md#overview)",
		"[topics](topics.tsv)":                          "[topics](../../articles/topics.tsv)",
		"[b](102-b.md#overview)":                        "[b](../../articles/102-b.md#overview)",
		"[doc](../relay/doc.go)":                        "[doc](../../relay/doc.go)",
		"[other](../samples/102-b/b_test.go)":           "[other](../../samples/102-b/b_test.go)",
		"[own](../samples/101-a/a_test.go)":             "[own](a_test.go)",
		"[own](../samples/101-a/a_test.go#TestA_Holds)": "[own](a_test.go#TestA_Holds)",
		"[here](../samples/101-a)":                      "[here](.)",
		"[web](https://example.org/a#b)":                "[web](https://example.org/a#b)",
		"[mail](mailto:a@example.org)":                  "[mail](mailto:a@example.org)",
		"[title](topics.tsv \"topics.tsv\")":            "[title](../../articles/topics.tsv \"topics.tsv\")",
		"[angle](<topics.tsv>)":                         "[angle](<../../articles/topics.tsv>)",
		"[`](topics.tsv`](topics.tsv)":                  "[`](topics.tsv`](../../articles/topics.tsv)",
		"*[topics.tsv](topics.tsv)*":                    "*[topics.tsv](../../articles/topics.tsv)*",
		"![a picture](picture.svg)":                     "![a picture](../../articles/picture.svg)",
		"[![a picture](picture.svg)](picture.svg)":      "[![a picture](../../articles/picture.svg)](../../articles/picture.svg)",
		"`[no](../relay/link.go)` [b](102-b.md)":        "`[no](../relay/link.go)` [b](../../articles/102-b.md)",
	} {
		require.Contains(t, sampleReadme(t, overview, "See "+link+" here."), "\n\nSee "+want+" here.\n\n")
	}
}

func TestFiles_LinksOfTheTableLeadToTheSameFiles(t *testing.T) {
	got := sampleReadme(t, "| [a_test.go](../samples/101-a/a_test.go) | holding |", "| [`a_test.go`](../samples/101-a/a_test.go) | [b](102-b.md), `](x)` |")
	require.Contains(t, got, "\n| [`a_test.go`](a_test.go) | [b](../../articles/102-b.md), `](x)` | no |\n")
}

func TestFiles_ReferencesAndFootnotesOfWhatIsCopiedAreFindings(t *testing.T) {
	for text, want := range map[string]string{
		"See\n[the site][web].\n\n[web]: https://example.org/": "articles/101-a.md:19:1: the sample's README begins with this too, and has no references; write the address of https://example.org/ into",
		"See [web].\n\n[web]: https://example.org/":            "articles/101-a.md:18:5: ",
		"See this.[^1]\n\n[^1]: A note.":                       "articles/101-a.md:18:1: the sample's README begins with this too, and has no footnotes",
	} {
		b, tree, _ := load(t, index, overview, text)
		files, findings := readme.Files(b, tree)
		require.Empty(t, files)
		require.Len(t, findings, 1)
		require.Contains(t, findings[0].String(), want)
		require.Equal(t, findings, readme.Check(b, tree))
	}
}

func TestFiles_TextsThatLookLikeMarkupSayWhatTheySaid(t *testing.T) {
	b, tree, _ := load(t, index,
		"summary: How to hold on | and let go.", "summary: 'Über 5 < 6 _and_ a_b, *all* of `a<b|c`, [x] &amp;lt; | ~y~ \\z.'",
		"TestA_Dull: shows nothing", "TestA_Dull: 'is <b>dull</b>, as a_b is'",
		"[It holds once]", "[It holds `x|y` \\<once\\>]")
	files, findings := readme.Files(b, tree)
	require.Empty(t, findings)
	require.Contains(t, string(files["README.md"]), `. Über 5 \< 6 \_and\_ a_b, \*all\* of `+"`a<b\\|c`"+`, \[x\] \&amp;lt; \| \~y\~ \\z. | Go |`)
	own := string(files["samples/101-a/README.md"])
	require.Contains(t, own, `: is \<b>dull\</b>, as a_b is`)
	require.Regexp(t, "\n\\| It holds `?x\\\\\\|y`? "+`\\<once> \| `, own)
}

func TestCheck_IsCleanOnceTheFilesAreWrittenAndNotBefore(t *testing.T) {
	b, tree, root := load(t, index)
	findings := readme.Check(b, tree)
	require.Len(t, findings, 3, "the README and two samples")
	require.Equal(t, "README.md:4:1: this is not what the articles say now; run make docs-gen", findings[0].String())

	files, findings := readme.Files(b, tree)
	require.Empty(t, findings)
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), content, 0o600))
	}
	require.Empty(t, readme.Check(b, tree))
}

func TestCheck_ReadmeWithoutMarkersIsAFinding(t *testing.T) {
	b, tree, _ := load(t, strings.ReplaceAll(index, "<!-- docgen:end samples -->\n", ""))
	findings := readme.Check(b, tree)
	require.Len(t, findings, 1)
	require.Contains(t, findings[0].Message, "docgen:begin samples")
}

func TestFiles_FootnotesMarkInCodeIsNoFootnote(t *testing.T) {
	b, tree, _ := load(t, index, "Things do not hold", "Things such as `[^x]` do not hold")
	files, findings := readme.Files(b, tree)
	require.Empty(t, findings)
	require.Contains(t, string(files["samples/101-a/README.md"]), "`[^x]`")
}

func TestFiles_FenceIsLongerThanAnyInTheOutput(t *testing.T) {
	b, tree, _ := load(t, index, "```text output=run\nok  \texample.com/small/samples/101-a\t0.002s\n```", "````text output=run\n    ```\nok  \texample.com/small/samples/101-a\t0.002s\n````")
	files, findings := readme.Files(b, tree)
	require.Empty(t, findings)
	require.Contains(t, string(files["samples/101-a/README.md"]), "````text\n    ```\nok")
}

func TestFiles_TableEndsWithItsLastRow(t *testing.T) {
	b, tree, _ := load(t, index, "| holding | no |\n\n## Running", "| holding | no |\n## Running")
	files, findings := readme.Files(b, tree)
	require.Empty(t, findings)
	require.NotContains(t, string(files["samples/101-a/README.md"]), "## Running")
}
