// Package book reads the articles, resolves what they embed, link and claim, and
// checks it. What it returns is ready to be rendered.
package book

import (
	"time"

	"github.com/yuin/goldmark/ast"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

// Book is everything that the site shows.
type Book struct {
	Articles []*Article // by slug
	Topics   []TopicGroup
	Images   map[string][]byte // by path in the site
	Findings []finding.Finding
	Commands []*Command
	Breaks   []Break
}

// Article is one page.
type Article struct {
	Slug     string // 023-distributed-coordination: its page is <slug>.html
	Path     string // articles/023-distributed-coordination.md
	Number   string // 023, or nothing
	Title    string
	Summary  string
	Category string
	Level    string   // beginner, intermediate or advanced
	Needs    []string // what the sample's tests need beside Go: postgres, redis; empty is nothing
	After    []*Article
	Know     []string // Markdown without blocks, rendered: see Inline
	Learn    []string
	Concepts []string
	Sample   string // samples/023-distributed-coordination
	Unshown  map[string]string
	Minutes  int // to read it
	Updated  time.Time
	EditURL  string

	Tests    results.Tally // of the sample's tests
	Source   []byte        // what Doc's segments point into
	Doc      ast.Node      // a goldmark tree with the nodes of this package
	Headings []Heading     // levels 2 and 3, in order
	Markdown []byte        // the article with its embeds expanded
	Claims   []Claim       // in the order of the page

	sections map[string]Section
}

// Heading is an entry of the contents.
type Heading struct {
	Level int
	ID    string // GitHub's slug, unique on the page
	Text  string // without markup
}

// TopicGroup is the part of the topics that one article covers, in the order of
// topics.tsv.
type TopicGroup struct {
	Article *Article // nil: what is left out, and why
	Topics  []Topic
}

// Topic is a line of topics.tsv.
type Topic struct {
	Text    string
	Heading Heading // zero for what is left out
	Test    string  // a test's name, or nothing
	TestURL string
}
