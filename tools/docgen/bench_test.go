package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/site"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// bigBook writes a repository of 50 articles of about 20 KB, each with a sample
// of twelve tests and four diagrams of its own.
func bigBook(b *testing.B) (root string, article func(i int) string) {
	b.Helper()
	root = b.TempDir()
	topics := "topic\tarticle#heading\ttest\tcovers\n"
	repotest.Write(b, root, "go.mod", "module example.com/big\n\ngo 1.26\n")
	repotest.Write(b, root, "README.md", "# Big\n\n<!-- docgen:begin samples -->\n<!-- docgen:end samples -->\n")
	repotest.Write(b, root, "relay/relay.go", "package relay\n")
	for i := range 50 {
		slug := fmt.Sprintf("%03d-sample", 100+i)
		repotest.Write(b, root, "samples/"+slug+"/a_test.go", bigSample(i))
		repotest.Write(b, root, "articles/"+slug+".md", bigArticle(i, slug))
		topics += fmt.Sprintf("Topic %d\t%s.md#part-1\t-\t000.001\n", i, slug)
	}
	repotest.Write(b, root, "articles/topics.tsv", topics)
	return root, func(i int) string { return fmt.Sprintf("articles/%03d-sample.md", 100+i) }
}

func bigSample(i int) string {
	var s strings.Builder
	s.WriteString("package a_test\n\nimport \"testing\"\n")
	for test := range 12 {
		fmt.Fprintf(&s, "\nfunc TestSample%d_Part%d(t *testing.T) {\n", i, test)
		for line := range 20 {
			fmt.Fprintf(&s, "\tif got := %d * 2; got != %d { // %d is what we want\n\t\tt.Fatalf(\"got %%d\", got)\n\t}\n", line, 2*line, 2*line)
		}
		s.WriteString("}\n")
	}
	return s.String()
}

func bigArticle(i int, slug string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "---\ntitle: Article %d\nsummary: About %d.\ncategory: C\nlevel: beginner\nlearn: [a]\nconcepts: [a]\n---\n\n# Article %d\n", i, i, i)
	for part := range 12 {
		fmt.Fprintf(&s, "\n## Part %d\n\n", part)
		for sentence := range 15 {
			fmt.Fprintf(&s, "In sentence %d of part %d a lease of `%d s` is *renewed* by [its holder](#part-%d), which is instance %d.\n", sentence, part, sentence, part, i)
		}
		fmt.Fprintf(&s, "\n[It holds](../samples/%s/a_test.go#TestSample%d_Part%d \"embed\")\n", slug, i, part)
		if part%3 == 0 {
			s.WriteString(bigDiagram(i, part))
		}
	}
	return s.String()
}

func bigDiagram(i, part int) string {
	if part == 9 {
		return fmt.Sprintf("\n```mermaid\nsequenceDiagram\n    accTitle: Sequence %d\n    accDescr: A asks B.\n    participant A as node-a\n    participant B as Store %d\n    A->>B: acquire\n    B-->>A: token %d\n    Note over A,B: a pause\n    A->>B: write\n```\n", i, i, part)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "\n```mermaid\nflowchart TD\n    accTitle: Flow %d of %d\n    accDescr: Nodes in a row.\n    subgraph Cluster\n", part, i)
	for node := range 9 {
		fmt.Fprintf(&s, "    N%d[Node %d of %d] -->|step %d| N%d\n", node, node, i, part, node+1)
	}
	s.WriteString("    end\n    N0 -.fails.-> N5\n    N9 --> S[(Store)]\n```\n")
	return s.String()
}

// The goal is under 2 s, the first drawing of a process included.
func BenchmarkBuild_FiftyArticlesWithTwoHundredDiagrams(b *testing.B) {
	root, _ := bigBook(b)
	for b.Loop() {
		require.NotEmpty(b, buildBig(b, newBuild(b, root)))
	}
}

// The goal is under 150 ms.
func BenchmarkRebuild_AfterOneEdit(b *testing.B) {
	root, article := bigBook(b)
	build := newBuild(b, root)
	buildBig(b, build)
	text := string(mustRead(b, build.tree, article(25)))
	for n := 0; b.Loop(); n++ {
		repotest.Write(b, root, article(25), strings.Replace(text, "In sentence 3", fmt.Sprintf("In edit %d", n), 1))
		buildBig(b, build)
	}
}

// oneBuild is what docgen serve keeps between two builds.
type oneBuild struct {
	tree    *source.Tree
	loader  *book.Loader
	builder *site.Builder
}

func newBuild(b *testing.B, root string) *oneBuild {
	b.Helper()
	tree := repotest.Open(b, root)
	base := &url.URL{Scheme: "https", Host: "example.org", Path: "/"}
	return &oneBuild{tree, book.NewLoader(tree), site.New(site.Options{BaseURL: base, Rev: "main", Repo: "https://example.com/big", Live: true})}
}

func buildBig(b *testing.B, build *oneBuild) map[string][]byte {
	b.Helper()
	loaded, err := build.loader.Load(book.Options{Module: "example.com/big", Repo: "https://example.com/big", Rev: "main"})
	require.NoError(b, err)
	require.Empty(b, loaded.Findings)
	files, err := build.builder.Build(loaded)
	require.NoError(b, err)
	return files
}

func mustRead(b *testing.B, tree *source.Tree, name string) []byte {
	b.Helper()
	content, err := tree.Read(name)
	require.NoError(b, err)
	return content
}
