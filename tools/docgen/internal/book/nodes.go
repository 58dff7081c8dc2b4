package book

import (
	"github.com/yuin/goldmark/ast"

	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// The kinds of our nodes.
var (
	KindEmbed   = ast.NewNodeKind("Embed")
	KindDiagram = ast.NewNodeKind("Diagram")
	KindCode    = ast.NewNodeKind("Code")
	KindAlert   = ast.NewNodeKind("Alert")
)

// Embed is a piece of source, cut out of a file of the repository.
type Embed struct {
	ast.BaseBlock
	Claim     string // the text of the link
	Snippet   source.Snippet
	ID        string          // unique on the page
	SourceURL string          // its lines, at the revision of the site
	Command   string          // go test -run '^TestX$' ./samples/…; nothing unless it is a test
	Result    *results.Result // nil unless it is a test
	Folded    bool            // a whole file, which few readers want to see at once

	test string // its name
}

// Diagram is a Mermaid fence, drawn.
type Diagram struct {
	ast.BaseBlock
	SVG         string // an svg element with title and desc
	Title       string
	Description string
}

// Code is a fenced block.
type Code struct {
	ast.BaseBlock
	Lang   string // sh, text, sql, go and so on; may be empty
	Body   string
	Run    bool // a command that the check or CI runs
	Sketch bool // Go that illustrates, and that nobody has compiled
	Output bool // what a command or a test prints
}

// Alert is GitHub's > [!NOTE]; its children are what it says.
type Alert struct {
	ast.BaseBlock
	Label string // note, tip, important, warning or caution
}

func (*Embed) Kind() ast.NodeKind   { return KindEmbed }
func (*Diagram) Kind() ast.NodeKind { return KindDiagram }
func (*Code) Kind() ast.NodeKind    { return KindCode }
func (*Alert) Kind() ast.NodeKind   { return KindAlert }

func (n *Embed) Dump(source []byte, level int) {
	ast.DumpHelper(n, source, level, map[string]string{"Path": n.Snippet.Path, "Name": n.Snippet.Name}, nil)
}

func (n *Diagram) Dump(source []byte, level int) {
	ast.DumpHelper(n, source, level, map[string]string{"Title": n.Title}, nil)
}

func (n *Code) Dump(source []byte, level int) {
	ast.DumpHelper(n, source, level, map[string]string{"Lang": n.Lang}, nil)
}

func (n *Alert) Dump(source []byte, level int) {
	ast.DumpHelper(n, source, level, map[string]string{"Label": n.Label}, nil)
}
