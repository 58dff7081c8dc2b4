package mermaid_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/relay-samples/relay-go/tools/docgen/internal/mermaid"
	"github.com/stretchr/testify/require"
)

const flowAlternative = "accTitle: Title\naccDescr: Description\n"

func flow(statements string) string { return "flowchart TD\n" + flowAlternative + statements }

func TestFlowchart_EveryLabelIsDrawn(t *testing.T) {
	for source, labels := range map[string][]string{
		`A`:                                     {"A"},
		`A[text] --> B(round)`:                  {"text", "round"},
		`A([stadium]) --> B[[sub routine]]`:     {"stadium", "sub routine"},
		`A[(store)] --> B((circle))`:            {"store", "circle"},
		`A{choice?} --> B{{hexagon}}`:           {"choice?", "hexagon"},
		`A>flag]`:                               {"flag"},
		`A["(x) [y] {z} | 'q'"]`:                {"(x) [y] {z} | 'q'"},
		`A["#quot;#35;&lt;#60;&amp;"]`:          {`"#<<&`},
		`A[one<br/>two<br>three]`:               {"one", "two", "three"},
		`A[role → owner, token 1 < 2]`:          {"role → owner, token 1 < 2"},
		`A[日本語]`:                                {"日本語"},
		`A["x@y.example"]`:                      {"x@y.example"},
		`A -->|yes| B`:                          {"yes"},
		`A -->|"(no)"| B`:                       {"(no)"},
		`A -- text --> B`:                       {"text"},
		`A -- "quoted - text" --> B`:            {"quoted - text"},
		`A -. text .-> B`:                       {"text"},
		`A -.dies → lock releases.-> B[next]`:   {"dies → lock releases", "next"},
		`A == text (x) ==> B`:                   {"text (x)"},
		`A -- text --- B`:                       {"text"},
		`A --> B --> C`:                         {"A", "B", "C"},
		`A & B --> C & D`:                       {"A", "B", "C", "D"},
		`A-->B;B-->C; C-->D;`:                   {"A", "B", "C", "D"},
		"subgraph s [Title here]\nA\nend":       {"Title here"},
		"subgraph Cluster\nA\nend\nCluster-->B": {"Cluster", "B"},
		"subgraph \"Q (x)\"\nA\nend":            {"Q (x)"},
		"subgraph two words\nA\nend":            {"two words"},
		"subgraph a\ndirection LR\nA-->B\nend":  {"a", "A", "B"},
		"A --> s\nsubgraph s\nB\nend":           {"s", "B"},
		"A --> End":                             {"End"},
		"A --x B":                               {"A", "B"},
		"A-- very long text that has to be wrapped somewhere in the middle -->B": {"very long text that has to be wrapped somewhere in the middle"},
	} {
		_, all := draw(t, flow(source))
		for _, label := range labels {
			require.Contains(t, words(all), strings.ReplaceAll(label, " ", ""), source)
		}
	}
}

func TestFlowchart_SubgraphIdsAreNoNodes(t *testing.T) {
	_, all := draw(t, flow("A --> s\nsubgraph s [Title]\nB\nend\ns -->|x| C"))
	require.Len(t, with(all, "dg-node"), 3)
	require.Len(t, with(all, "dg-cluster"), 1)
}

func TestFlowchart_ANodeBelongsToTheFirstSubgraphThatNamesIt(t *testing.T) {
	_, all := draw(t, flow("subgraph one\nA --> B\nend\nsubgraph two\nA --> C\nend"))
	one, two := with(all, "dg-cluster")[0].box(), with(all, "dg-cluster")[1].box()
	inside := map[string]rect{"A": one, "B": one, "C": two}
	for i, label := range with(all, "dg-label") {
		node := with(all, "dg-node")[i].box()
		require.True(t, inside[label.text[0]].holds(node), label.text[0])
	}
}

func TestFlowchart_StrokesAndTipsFollowTheLink(t *testing.T) {
	for link, want := range map[string]struct{ dotted, thick, arrows, tips int }{
		"-->":      {0, 0, 1, 0},
		"---":      {0, 0, 0, 0},
		"-.->":     {1, 0, 1, 0},
		"-.-":      {1, 0, 0, 0},
		"==>":      {0, 1, 1, 0},
		"===":      {0, 1, 0, 0},
		"--o":      {0, 0, 0, 1},
		"--x":      {0, 0, 0, 1},
		"<-->":     {0, 0, 2, 0},
		"<-.->":    {1, 0, 2, 0},
		"o--o":     {0, 0, 0, 2},
		"---->":    {0, 0, 1, 0},
		"-- t -->": {0, 0, 1, 0},
		"-. t .->": {2, 0, 1, 0},
	} {
		_, all := draw(t, flow("A "+link+" B"))
		require.Len(t, with(all, "dg-dotted"), want.dotted, link)
		require.Len(t, with(all, "dg-thick"), want.thick, link)
		require.Len(t, with(all, "dg-arrow"), want.arrows, link)
		require.Len(t, with(all, "dg-tip"), want.tips, link)
	}
}

func TestFlowchart_LongerLinksReachFarther(t *testing.T) {
	height := func(link string) float64 {
		_, all := draw(t, flow("A "+link+" B"))
		return viewBox(t, all).y1 - viewBox(t, all).y0
	}
	require.Greater(t, height("--->"), height("-->"))
	require.Greater(t, height("-..->"), height("-.->"))
}

func TestFlowchart_DirectionsPutTheSecondNodeWhereTheySay(t *testing.T) {
	for direction, want := range map[string]func(a, b rect) bool{
		"TD": func(a, b rect) bool { return a.y1 < b.y0 },
		"TB": func(a, b rect) bool { return a.y1 < b.y0 },
		"BT": func(a, b rect) bool { return a.y0 > b.y1 },
		"LR": func(a, b rect) bool { return a.x1 < b.x0 },
		"RL": func(a, b rect) bool { return a.x0 > b.x1 },
	} {
		for _, link := range []string{"-->", "-->|text|"} {
			_, all := draw(t, "graph "+direction+"\n"+flowAlternative+"A "+link+" B")
			nodes := with(all, "dg-node")
			require.True(t, want(nodes[0].box(), nodes[1].box()), "%s %s", direction, link)
		}
	}
}

func TestFlowchart_ASubgraphKeepsItsDirectionUnlessAnEdgeCrossesItsFrame(t *testing.T) {
	across := func(source string) bool {
		_, all := draw(t, flow(source))
		nodes := with(all, "dg-node")
		return nodes[0].box().x1 < nodes[1].box().x0
	}
	require.True(t, across("subgraph s\ndirection LR\nA --> B\nend\ns --> C"))
	crossed := "subgraph s\ndirection LR\nA --> B\nend\nB --> C"
	require.False(t, across(crossed))
	_, all := draw(t, flow(crossed))
	for _, node := range with(all, "dg-node")[:2] {
		require.True(t, with(all, "dg-cluster")[0].box().holds(node.box()))
	}
}

func TestFlowchart_WhatLiesInASubgraphOfItsOwnDirectionMovesWithIt(t *testing.T) {
	_, all := draw(t, flow("X --> s\nsubgraph s\ndirection LR\nA -->|text| B\nend"))
	frame := with(all, "dg-cluster")[0].box()
	require.True(t, frame.holds(with(all, "dg-edge-label")[0].box()))
	require.Less(t, outlineDistance(with(all, "dg-node")[2], with(all, "dg-arrow")[1].points[0]), 1.5)
}

func TestFlowchart_TheLabelOfAnEdgeInsideASubgraphLiesInside(t *testing.T) {
	_, all := draw(t, flow("subgraph s\nA -->|"+strings.Repeat("wide ", 4)+"| B\nend"))
	require.True(t, with(all, "dg-cluster")[0].box().holds(with(all, "dg-edge-label")[0].box()))
}

func TestFlowchart_NodesOfARankStayLevelWithAndWithoutLabels(t *testing.T) {
	_, all := draw(t, flow("A --> B\nA -->|text| C"))
	nodes := with(all, "dg-node")
	require.InDelta(t, nodes[1].box().y0, nodes[2].box().y0, 1)
}

func TestFlowchart_AnEdgeToASubgraphEndsAtItsFrame(t *testing.T) {
	for _, source := range []string{
		"A --> s\nsubgraph s\nB --> C\nend",
		"A -->|text| s\nsubgraph s\nB --> C\nend",
		"A --> s\nsubgraph s\ndirection LR\nB --> C\nend",
		"A --> s\nsubgraph s\nsubgraph in\ndirection LR\nB --> C\nend\nend",
	} {
		_, all := draw(t, flow(source))
		head := with(all, "dg-arrow")[0].points[0]
		frame := with(all, "dg-cluster")[0]
		require.Less(t, outlineDistance(frame, head), 1.5, source)
		for _, label := range with(all, "dg-label") {
			require.Equal(t, label.text[0] != "A", frame.box().holds(label.box()), "%s: %v", source, label.text)
		}
	}
}

func TestFlowchart_ALabelledEdgeThatClosesACycleStaysBetweenItsNodes(t *testing.T) {
	_, all := draw(t, flow("A --> B\nB -->|back| A"))
	a, b := with(all, "dg-node")[0].box(), with(all, "dg-node")[1].box()
	label := with(all, "dg-edge-label")[0].box()
	require.Less(t, a.y1, label.y0)
	require.Less(t, label.y1, b.y0)

	for _, source := range []string{"A --> B\nB -->|back| A", "A --> B\nB --> A"} {
		_, all := draw(t, flow(source))
		require.Len(t, with(all, "dg-arrow"), 2)
		for i, head := range with(all, "dg-arrow") {
			require.Less(t, outlineDistance(with(all, "dg-node")[1-i], head.points[0]), 1.5, source)
		}
	}
}

func TestFlowchart_LongLabelsWrap(t *testing.T) {
	long := strings.Repeat("several words ", 12)
	_, all := draw(t, flow("A["+long+"] -->|"+long+"| B{"+long+"}"))
	for _, class := range []string{"dg-node", "dg-edge-label"} {
		for _, m := range with(all, class) {
			require.Less(t, m.box().x1-m.box().x0, 300.0, class)
		}
	}
	for i, label := range with(all, "dg-label") {
		require.True(t, with(all, "dg-node")[i].box().holds(label.box()), "a label leaves its node")
	}
}

func TestFlowchart_TextWithoutSpacesBreaksIntoEvenLines(t *testing.T) {
	_, all := draw(t, flow("A[これは空白のない長い文章なので折り返す]"))
	lines := with(all, "dg-label")[0].text
	require.Len(t, lines, 2)
	require.InDelta(t, len([]rune(lines[0])), len([]rune(lines[1])), 2)
}

// Every shape, at both ends of lines from above and from the side, with a label
// and without.
func TestFlowchart_EveryEdgeTouchesItsTwoNodes(t *testing.T) {
	shapes := []string{"[text]", "(text)", "([text])", "[[text]]", "[(text)]", "((text))", "{text}", "{{text}}", ">text]"}
	for _, direction := range []string{"TD", "LR"} {
		for _, shape := range shapes {
			for _, link := range []string{"<-->", "<-- label -->"} {
				source := fmt.Sprintf("flowchart %s\n%sA%s %s B%s", direction, flowAlternative, shape, link, shape)
				_, all := draw(t, source)
				nodes, heads := with(all, "dg-node"), with(all, "dg-arrow")
				for i, head := range heads {
					require.Less(t, outlineDistance(nodes[i], head.points[0]), 1.5, "%s, end %d", source, i)
				}
			}
		}
	}
}

func TestFlowchart_EdgesOfACrowdTouchTheirNodes(t *testing.T) {
	for _, shape := range []string{"([hub])", "[(hub)]", "{{hub}}", ">hub]", "((hub))", "{hub}"} {
		_, all := draw(t, flow("H"+shape+" --> A & B & C & D & E\nF & G & I & J & K --> H"))
		hub := with(all, "dg-node")[0]
		for _, head := range with(all, "dg-arrow")[5:] {
			require.Less(t, outlineDistance(hub, head.points[0]), 1.5, shape)
		}
	}
}

// outlineDistance measures how far p is from the outline of a node.
func outlineDistance(m mark, p [2]float64) float64 {
	b := m.box()
	corners := [][2]float64{{b.x0, b.y0}, {b.x1, b.y0}, {b.x1, b.y1}, {b.x0, b.y1}}
	switch m.tag {
	case "circle":
		r := m.number("r")
		return math.Abs(math.Hypot(p[0]-m.number("cx"), p[1]-m.number("cy")) - r)
	case "polygon":
		corners = m.points
	case "path": // a cylinder; its points leave the bows at both ends out
		y := min(max(p[1], b.y0), b.y1)
		bow := 6 * math.Sqrt(max(0, 1-math.Pow(2*(p[0]-b.x0)/(b.x1-b.x0)-1, 2)))
		up, down := math.Abs(p[1]-(b.y0-bow)), math.Abs(p[1]-(b.y1+bow))
		return min(up, down, math.Hypot(min(math.Abs(p[0]-b.x0), math.Abs(p[0]-b.x1)), p[1]-y))
	case "rect":
		if r := m.number("rx"); r > 3 {
			x, y := min(max(p[0], b.x0+r), b.x1-r), min(max(p[1], b.y0+r), b.y1-r)
			return math.Abs(math.Hypot(p[0]-x, p[1]-y) - r)
		}
	}
	nearest := math.Inf(1)
	for i, a := range corners {
		nearest = min(nearest, segmentDistance(p, a, corners[(i+1)%len(corners)]))
	}
	return nearest
}

func segmentDistance(p, a, b [2]float64) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	t := ((p[0]-a[0])*dx + (p[1]-a[1])*dy) / (dx*dx + dy*dy)
	t = min(max(t, 0), 1)
	return math.Hypot(p[0]-a[0]-t*dx, p[1]-a[1]-t*dy)
}

func TestFlowchart_MarkupInALabelStaysText(t *testing.T) {
	d, _ := draw(t, flow(`A["#lt;script#gt;alert(1)#lt;/script#gt; #quot; & '"] -->|"a #lt;b#gt;"| B`))
	require.NotContains(t, d.SVG, "<script")
	require.NotContains(t, d.SVG, "<b>")
}

func TestFlowchart_TheIdIsEscaped(t *testing.T) {
	d, errs := mermaid.Draw(flow("A"), `d"><x`)
	require.Empty(t, errs)
	marks(t, d.SVG) // fails unless it is well-formed
}
