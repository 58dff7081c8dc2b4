package book_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

const alphaArticle = "articles/101-alpha.md"

// repository is a small one that is in order: its files by path.
func repository() map[string]string {
	return map[string]string{
		"go.mod":                  "module example.com/small\n\ngo 1.26\n",
		"Makefile":                "demo: ## Tell the story\n\ttrue\n",
		"README.md":               "# Small\n\n## The samples\n\n<!-- docgen:begin samples -->\n<!-- docgen:end samples -->\n",
		"relay/relay.go":          "package relay\n\n// Token is a number.\ntype Token int64\n\n// Next is the one after.\nfunc (t Token) Next() Token { return t + 1 }\n",
		"relay/memory/memory.go":  "package memory\n\n// NewLocker makes one.\nfunc NewLocker() {}\n",
		"relay/postgres/pg.go":    "package postgres\n\n// LockKey is a key.\nfunc LockKey(string) int64 { return 0 }\n",
		"relay/relaytest/test.go": "package relaytest\n\n// Locker is a suite.\nfunc Locker() {}\n",
		"articles/picture.svg":    "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
		"samples/101-alpha/alpha_test.go": `package alpha_test

import "testing"

// TestAlpha_Holds says that it holds.
func TestAlpha_Holds(t *testing.T) {
	t.Run("the first time", func(t *testing.T) {
		t.Log("held")
	})
}

func TestAlpha_Lapses(t *testing.T) {
	//docgen:begin lapse
	t.Log("lapsed")
	//docgen:end lapse
}

func TestAlpha_Boring(t *testing.T) {}
`,
		"articles/topics.tsv": "topic\tarticle#heading\ttest\tcovers\n" +
			"Holding on\t101-alpha.md#step-one\tsamples/101-alpha/alpha_test.go#TestAlpha_Holds\t000.001-000.003, 000.007\n" +
			"Not here\t-\t-\t000.004\n",
		alphaArticle: `---
title: Alpha
summary: What holds, and for how long.
category: Operations
level: beginner
needs: []
after: []
know:
  - Go
learn:
  - say what holds
concepts: [holding]
unshown:
  TestAlpha_Boring: shows nothing
---

# Alpha

## Overview

The problem is that things do not hold. See [the step](#step-one), [the test](../samples/101-alpha/alpha_test.go#TestAlpha_Holds),
[the package](../relay) and ` + "`relay.Token`" + `.

## Step one

[It holds](../samples/101-alpha/alpha_test.go#TestAlpha_Holds "embed doc")

[It lapses](../samples/101-alpha/alpha_test.go#region:lapse "embed")

` + "```mermaid" + `
flowchart TD
    accTitle: Holding
    accDescr: A holds B.
    A[Holder] --> B[(Store)]
` + "```" + `

> [!NOTE]
> Holding is *not* having.

## Running the example

` + "```sh run\ngo test -run '^TestAlpha_Holds$' ./samples/101-alpha\n```" + `

` + "```text output=run\nok  \texample.com/small/samples/101-alpha\t0.002s\n```" + `

` + "```sh run\nmake demo\n```" + `

` + "```go sketch\nhold()\n```" + `

![A picture](picture.svg)
`,
	}
}

// change replaces a text that occurs once in a file.
type change struct{ file, old, new string }

func apply(t *testing.T, files map[string]string, changes ...change) map[string]string {
	t.Helper()
	files = maps.Clone(files)
	for _, c := range changes {
		require.Equal(t, 1, strings.Count(files[c.file], c.old), "%q occurs once in %s", c.old, c.file)
		files[c.file] = strings.Replace(files[c.file], c.old, c.new, 1)
	}
	return files
}

// openTree writes the files to a folder of their own.
func openTree(t *testing.T, files map[string]string) *source.Tree {
	t.Helper()
	tree, _ := openTreeToChange(t, files)
	return tree
}

// openTreeToChange also returns what writes a file anew.
func openTreeToChange(t *testing.T, files map[string]string) (*source.Tree, func(name, content string)) {
	t.Helper()
	root := repotest.New(t, files)
	return repotest.Open(t, root), func(name, content string) { repotest.Write(t, root, name, content) }
}

var options = book.Options{
	Module: "example.com/small", Repo: "https://example.com/small", Rev: "abc123", From: "results.jsonl",
}

func load(t *testing.T, files map[string]string) *book.Book {
	t.Helper()
	b, err := book.NewLoader(openTree(t, files)).Load(options)
	require.NoError(t, err)
	return b
}

// loadClean wants the book to be in order.
func loadClean(t *testing.T, files map[string]string) *book.Book {
	t.Helper()
	b := load(t, files)
	require.Empty(t, b.Findings)
	return b
}
