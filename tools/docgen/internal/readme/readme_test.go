package readme_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/readme"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

const index = "# Small\n\n<!-- docgen:begin samples -->\nold\n<!-- docgen:end samples -->\n\nThe rest.\n"

// load returns a small book, whose repository has this README.
func load(t *testing.T, readme string) (*book.Book, *source.Tree, string) {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                  "module example.com/small\n\ngo 1.26\n",
		"README.md":               readme,
		"relay/doc.go":            "// Package relay is small.\npackage relay\n",
		"articles/topics.tsv":     "topic\tarticle#heading\ttest\tcovers\n",
		"samples/101-a/a_test.go": "package a_test\n\nimport \"testing\"\n\nfunc TestA_Holds(t *testing.T) {\n\tt.Run(\"once\", func(t *testing.T) { t.Log() })\n}\n\nfunc TestA_Dull(t *testing.T) {}\n",
		"samples/102-b/b_test.go": "package b_test\n\nimport \"testing\"\n\nfunc TestB_Lapses(t *testing.T) { t.Log() }\n",
		"articles/102-b.md":       "---\ntitle: Before\nsummary: What comes first.\ncategory: C\nlevel: beginner\nneeds: [postgres, redis]\nlearn: [b]\nconcepts: [b]\n---\n\n# Before\n\n## Overview\n\nB.\n\n[It lapses](../samples/102-b/b_test.go#TestB_Lapses \"embed\")\n",
		"articles/101-a.md":       article,
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	}
	tree, err := source.Open(root)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tree.Close()) })
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
	files, err := readme.Files(b, tree)
	require.NoError(t, err)
	require.Equal(t, wanted, string(files["samples/101-a/README.md"]))
}

func TestFiles_IndexListsEverySampleAndLeavesTheRestOfTheReadmeAlone(t *testing.T) {
	b, tree, _ := load(t, index)
	files, err := readme.Files(b, tree)
	require.NoError(t, err)
	require.Equal(t, `# Small

<!-- docgen:begin samples -->
| Sample | Article | Needs |
|---|---|---|
| [101-a](samples/101-a) | [Holding on](articles/101-a.md): how to hold on \| and let go. | Go |
| [102-b](samples/102-b) | [Before](articles/102-b.md): what comes first. | Go; PostgreSQL, Redis for some tests |
<!-- docgen:end samples -->

The rest.
`, string(files["README.md"]))
}

func TestCheck_IsCleanOnceTheFilesAreWrittenAndNotBefore(t *testing.T) {
	b, tree, root := load(t, index)
	findings := readme.Check(b, tree)
	require.Len(t, findings, 3, "the README and two samples")
	require.Equal(t, "README.md:4:1: this is not what the articles say now; run make docs-gen", findings[0].String())

	files, err := readme.Files(b, tree)
	require.NoError(t, err)
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
