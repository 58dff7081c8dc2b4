package mermaid_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relay-samples/relay-go/tools/docgen/internal/mermaid"
	"github.com/stretchr/testify/require"
)

// refusal is a statement in line 4, behind the header and the text alternative,
// with what its error must say of the fault and of the mend.
type refusal struct{ statement, fault, mend string }

func manyNodes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "N%d;", i)
	}
	return b.String()
}

var refusedFlow = []refusal{
	{"classDef x fill:#f00", "outside the subset", "remove it"},
	{"class A x", "outside the subset", "remove it"},
	{"A:::x --> B", ":::", "remove it"},
	{"A[x]:::y", ":::", "remove it"},
	{"style A fill:#f00", "outside the subset", "remove it"},
	{"linkStyle 0 stroke:#f00", "outside the subset", "use ==>"},
	{`click A "https://go.dev"`, "outside the subset", "article's text"},
	{"A@{ shape: circle }", "outside the subset", "brackets"},
	{"A e1@--> B", "@", "start a new line"},
	{"%%{init: {}}%%", "outside the subset", "remove it"},
	{"%%", "bare", "behind it"},
	{"A --> B %% why", "line of its own", "above"},
	{"A ~~~ B", "~~~", "remove it"},
	{"A(((x)))", "outside the subset", "use [ ]"},
	{"A[/x/]", "outside the subset", "quote the label"},
	{"A[f(x)]", "refuses (", "quote the label"},
	{`A[say "x"]`, `refuses "`, "quote the label"},
	{"A(a [b])", "refuses [", "quote the label"},
	{"A{x}}", "cannot follow", "start a new line"},
	{"A[x", "no closing ]", "add it"},
	{`A["x]`, "must end in its line", "add the quote"},
	{`A["x" y]`, "must follow the closing quote", "#quot;"},
	{"A[]", "empty", "write"},
	{`A["` + "`x`" + `"]`, "Markdown", "without backticks"},
	{"A[a `b`]", "backticks", "leave them out"},
	{"A[1. first]", "Unsupported markdown", "word it differently"},
	{"A[- first]", "Unsupported markdown", "word it differently"},
	{"A[see https://go.dev]", "Unsupported markdown", "leave out"},
	{"A[a *b* c]", "emphasis", "leave the marks out"},
	{`A[a\nb]`, "new line", "<br/>"},
	{"A[a <b>c</b>]", "HTML tag", "#lt;"},
	{"A[a<b]", "HTML tag", "#lt;"},
	{"A[#nothing;]", "no entity", "#lt;"},
	{"A[&#60;]", "stray", "without the &"},
	{"A[x@y]", "refuses @", "quote the label"},
	{"A [x]", "no space", "id[text]"},
	{"A & --> B", "is no node", "letters"},
	{"A&B --> C", "reads", "spaces around &"},
	{"A -->", "missing", "write its id"},
	{"A --> B C", "cannot follow", "start a new line"},
	{"A -> B", "cannot follow", "-->"},
	{"A -- text B", "has no end", "-->"},
	{`A -- a "b" --> C`, "quote", "#quot;"},
	{"A -. to.-> B", "reads the o", "space"},
	{"A x--> B", "different tips", "x--x"},
	{"A <--- B", "different tips", "<-->"},
	{"A -->|x|  B", "one space", "remove"},
	{"x--> B", "start of an arrow", "space behind"},
	{"end --> A", "reads end", "write End"},
	{"A --> end", "reads the word end", "n_end"},
	{"A --> graph", "reads the word graph", "n_graph"},
	{"A --> 1end", "reads the word end", "n_end"},
	{"A --> é", "as an id", "ASCII"},
	{"A.->B", "as an id", "spaces around"},
	{"A[x direction LR]", "direction", "word the text differently"},
	{"direction LR", "subgraph", "behind flowchart"},
	{"A[x]\nA[y]", "another text", "one place"},
	{"end", "no open subgraph", "remove"},
	{"subgraph s\nA", "no end", "add"},
	{"subgraph s\nend\nA", "empty", "put a node"},
	{"subgraph\nA\nend", "no title", "id [title]"},
	{"subgraph a (b)\nA\nend", "without quotes", `["title"]`},
	{"subgraph a → b\nA\nend", "without quotes", `["title"]`},
	{"subgraph s [a (b)]\nA\nend", "refuses (", "quote"},
	{"subgraph s\nA --> s\nend", "inside it", "two nodes"},
	{"subgraph s\nA\nend\nsubgraph s\nB\nend", "belongs to", "another"},
	{"subgraph s\nA\nend\nsubgraph t\nB --> s\nend", "move", "outside"},
	{"subgraph s\nA\nend\ns[x]", "is a subgraph", "another id"},
	{"accTitle: again", "twice", "keep one"},
	{"accDescr:", "empty", "say"},
	{"accDescr {", "no closing }", "add"},
	{strings.Repeat("A & B & C & D --> E & F & G & H;", 32), "500 edges", "split"},
	{"A " + strings.Repeat("-", 40) + "> B", "too long", "at most"},
	{"A -. text " + strings.Repeat(".", 40) + "-> B", "too long", "at most"},
	{manyNodes(201), "200 nodes", "split"},
	{strings.Repeat("subgraph \"s\"\n", 7) + "A" + strings.Repeat("\nend", 7), "6 deep", "split"},
}

var refusedSequence = []refusal{
	{"A->>B: a; b", "at ;", "#59;"},
	{"A->>B: a &lt; b", "at ;", "#lt;"},
	{"A->>B: issue #1", "from # on", "#35;"},
	{"A->>B: <b>x</b>", "HTML tag", "#lt;"},
	{"A->>B: wrap: x", "outside the subset", "<br/>"},
	{"A->>B:", "empty", "write"},
	{"A->>B", "needs a text", "A->>B: text"},
	{"A<<->>B: x", "two heads", "two messages"},
	{"A ~> B: x", "no statement", "messages"},
	{"node-x->>B: x", "a message is written", "letters"},
	{"Alice Smith->>B: x", "a message is written", "letters"},
	{"end->>B: x", "reads a word", "another id"},
	{"A->>Note: x", "reads a word", "another id"},
	{"endé->>B: x", "reads a word", "another id"},
	{"1->>B: x", "as a number", "letter"},
	{"participant", "is written", "id"},
	{"participant A as", "is written", "id"},
	{"participant A@{ type: db }", "is written", "id"},
	{"A->>B: x\nparticipant A", "already", "before its first message"},
	{"participant A\nparticipant A as Again", "already", "once"},
	{"Note over A", "is written", "Note over A: text"},
	{"Note left of A,B: x", "one participant", "Note over A,B"},
	{"activate A", "not known", "declare"},
	{"A->>-B: x", "not active", "activate it first"},
	{"A->>+B: x", "stays active", "deactivate it"},
	{"A->>B: x\nactivate B", "stays active", "deactivate it"},
	{"alt x\nA->>B: x", "no end", "add"},
	{"alt x\nend", "empty", "remove it"},
	{"end", "no open block", "remove"},
	{"else x", "divides", "alt"},
	{"opt a\nA->>B: x\nelse b\nA->>B: x\nend", "divides", "alt"},
	{"rect rgb(0,0,0)", "outside the subset", "note"},
	{"box x", "outside the subset", "leave it out"},
	{"create participant A", "outside the subset", "participant"},
	{"links A: {}", "outside the subset", "article"},
	{"title x", "outside the subset", "accTitle"},
	{"A->>B: x %% why", "line of its own", "above"},
}

func TestDraw_WhatIsOutsideTheSubsetIsAnErrorWithItsLineAndTheMend(t *testing.T) {
	for header, table := range map[string][]refusal{
		"flowchart TD":    refusedFlow,
		"sequenceDiagram": refusedSequence,
	} {
		for _, r := range table {
			t.Run(r.statement[:min(len(r.statement), 40)], func(t *testing.T) {
				d, errs := mermaid.Draw(header+"\naccTitle: T\naccDescr: D\n"+r.statement, "d1")
				require.NotEmpty(t, errs)
				require.Empty(t, d)
				require.GreaterOrEqual(t, errs[0].Line, 4)
				require.LessOrEqual(t, errs[0].Line, 4+strings.Count(r.statement, "\n"))
				require.Contains(t, errs[0].Message, r.fault)
				require.Contains(t, errs[0].Message, r.mend)
			})
		}
	}
}

func TestDraw_AHeaderThatIsNotOfTheSubsetIsAnError(t *testing.T) {
	for source, want := range map[string]string{
		"":                          "empty",
		"\n\n%% only a comment":     "empty",
		"pie\n\"a\": 1":             "outside the subset",
		"stateDiagram-v2\na-->b":    "outside the subset",
		"---\ntitle: x\n---\ngraph": "front matter",
		"flowchart TD A-->B":        "new line",
		"flowchart XY\nA":           "no direction",
		"sequenceDiagram A->>B: x":  "new line",
		strings.Repeat("x", 50_001): "at most",
		"sequenceDiagram\naccTitle: x\naccDescr: y": "no participant",
		"flowchart TD\naccTitle: x\naccDescr: y":    "no node",
	} {
		_, errs := mermaid.Draw(source, "d1")
		require.NotEmpty(t, errs, source)
		require.Equal(t, 1, errs[0].Line, source)
		require.Contains(t, errs[0].Message, want, source)
	}
}

func TestDraw_ADiagramWithoutATextAlternativeIsAnError(t *testing.T) {
	for _, source := range []string{"flowchart TD\nA-->B\n", "sequenceDiagram\nA->>B: x\n"} {
		_, errs := mermaid.Draw(source, "d1")
		require.Len(t, errs, 2)
		require.Contains(t, errs[0].Message, "no accTitle; add")
		require.Contains(t, errs[1].Message, "no accDescr; add")

		_, errs = mermaid.Draw(source+"accTitle: x\naccDescr: y", "d1")
		require.Empty(t, errs)
	}
}

func TestDraw_EveryFaultIsReportedInTheOrderOfTheLines(t *testing.T) {
	_, errs := mermaid.Draw("flowchart TD\naccTitle: T\nA[x(]\nB --> C\nstyle A fill:red", "d1")
	var lines []int
	for _, e := range errs {
		lines = append(lines, e.Line)
	}
	require.Equal(t, []int{1, 3, 5}, lines)
	require.EqualError(t, errs[2], "line 5: "+errs[2].Message)
}

func TestDraw_LinesEndInEitherWay(t *testing.T) {
	unix := "flowchart TD\naccTitle: T\naccDescr: D\nA[x] --> B\n"
	want, errs := mermaid.Draw(unix, "d1")
	require.Empty(t, errs)
	got, errs := mermaid.Draw(strings.ReplaceAll(unix, "\n", "\r\n"), "d1")
	require.Empty(t, errs)
	require.Equal(t, want, got)
}
