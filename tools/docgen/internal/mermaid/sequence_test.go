package mermaid_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func seq(statements string) string {
	return "sequenceDiagram\naccTitle: Title\naccDescr: Description\n" + statements
}

func TestSequence_EveryTextIsDrawn(t *testing.T) {
	for source, texts := range map[string][]string{
		"A->>B: hello":                                           {"A", "B", "hello"},
		"participant A as node-a\nA->>B: x":                      {"node-a", "x"},
		"actor A as The operator\nA->>B: x":                      {"The operator"},
		"participant n-1\nn-1->>B: x":                            {"n-1"},
		"A->>B: one<br/>two":                                     {"one", "two"},
		"A->>B: 1 < 2 #lt; #35;1 #59;":                           {"1 < 2 < #1 ;"},
		"A->>A: to itself":                                       {"to itself"},
		"Note over A: x":                                         {"x"},
		"Note over A,B: both":                                    {"both"},
		"note right of A: r\nnote left of B:l":                   {"r", "l"},
		"alt a\nA->>B: x\nelse b\nA->>B: y\nelse\nA->>B: z\nend": {"alt", "[a]", "[b]", "z"},
		"opt a\nA->>B: x\nend":                                   {"opt", "[a]"},
		"loop every 10 s\nA->>B: x\nend":                         {"loop", "[every10s]"},
		"par a\nA->>B: x\nand b\nA->>B: x\nend":                  {"par", "[a]", "[b]"},
		"critical a\nA->>B: x\noption b\nA->>B: x\nend":          {"critical", "[a]", "[b]"},
		"break a\nA->>B: x\nend":                                 {"break", "[a]"},
		"loop\nloop\nA->>B: x\nend\nend":                         {"loop", "x"},
		"autonumber\nA->>B: x\nB->>A: y":                         {"1", "2"},
		"autonumber 10 5\nA->>B: x\nB->>A: y":                    {"10", "15"},
		"A->>B: to C":                                            {"to C"},
	} {
		_, all := draw(t, seq(source))
		for _, text := range texts {
			require.Contains(t, words(all), strings.ReplaceAll(text, " ", ""), source)
		}
	}
}

func TestSequence_ArrowsDifferInLineAndHead(t *testing.T) {
	for arrow, want := range map[string]struct{ dotted, arrows, tips int }{
		"->>":  {0, 1, 0},
		"-->>": {1, 1, 0},
		"->":   {0, 0, 0},
		"-->":  {1, 0, 0},
		"-x":   {0, 0, 1},
		"--x":  {1, 0, 1},
		"-)":   {0, 0, 1},
		"--)":  {1, 0, 1},
	} {
		for _, to := range []string{"B", "A"} {
			_, all := draw(t, seq("A"+arrow+to+": x"))
			require.Len(t, with(all, "dg-dotted"), want.dotted, arrow)
			require.Len(t, with(all, "dg-arrow"), want.arrows, arrow)
			require.Len(t, with(all, "dg-tip"), want.tips, arrow)
		}
	}
}

func TestSequence_AMessageRunsFromOneLifelineToTheOther(t *testing.T) {
	_, all := draw(t, seq("participant A\nparticipant B\nparticipant C\nC->>A: back"))
	actors := with(all, "dg-actor")
	center := func(i int) float64 { return (actors[i].box().x0 + actors[i].box().x1) / 2 }
	require.InDelta(t, center(2), with(all, "dg-edge")[0].points[0][0], 0.2)
	require.InDelta(t, center(0), with(all, "dg-arrow")[0].points[0][0], 0.2)
}

func TestSequence_AMessageToAnActivationEndsAtItsBar(t *testing.T) {
	_, all := draw(t, seq("A->>+B: x\nB-->>-A: y"))
	bars := with(all, "dg-bar")
	require.Len(t, bars, 1)
	require.InDelta(t, bars[0].box().x0, with(all, "dg-arrow")[0].points[0][0], 0.2)
	require.InDelta(t, bars[0].box().x0, with(all, "dg-edge")[1].points[0][0], 0.2)
}

func TestSequence_StatementsOfTheirOwnActivateToo(t *testing.T) {
	_, all := draw(t, seq("A->>B: x\nactivate B\nB->>B: y\ndeactivate B"))
	require.Len(t, with(all, "dg-bar"), 1)
}

func TestSequence_NoLifelineRunsThroughATextOrANote(t *testing.T) {
	_, all := draw(t, seq("participant A\nparticipant B\nparticipant C\nA->>C: a text that passes B in the middle\nNote over B: a note\nNote over A,C: a wider note"))
	covered := append(with(all, "dg-edge-label"), with(all, "dg-note")...)
	for _, life := range with(all, "dg-life") {
		line := life.box() // without a width, and it may end at a note
		line = rect{line.x0 - 0.1, line.y0 + 0.1, line.x1 + 0.1, line.y1 - 0.1}
		for _, m := range covered {
			require.False(t, line.overlaps(m.box()), "%v runs through %v %v", life.points, m.tag, m.text)
		}
	}
}

func TestSequence_AFrameHoldsWhatIsInIt(t *testing.T) {
	_, all := draw(t, seq("A->>B: before\nalt a condition that is longer than the messages in it are\nA->>B: x\nNote right of B: inside\nloop y\nB->>B: self\nend\nend"))
	frames := with(all, "dg-frame")
	require.Len(t, frames, 2)
	require.True(t, frames[0].box().holds(frames[1].box()))
	for _, note := range with(all, "dg-note") {
		require.True(t, frames[0].box().holds(note.box()))
	}
	for _, text := range with(all, "dg-frame-label") {
		require.True(t, frames[0].box().holds(text.box()), text.text)
	}
}

func TestSequence_ManyParticipantsKeepApart(t *testing.T) {
	var b strings.Builder
	ids := "ABCDEFGHIJKL"
	for _, id := range ids {
		b.WriteString("participant " + string(id) + " as A rather long name of " + string(id) + "\n")
	}
	b.WriteString("A->>L: across all of them\nL-->>A: and back\nF->>F: self\nC->>B: left\n")
	_, all := draw(t, seq(b.String()))
	actors := with(all, "dg-actor")
	require.Len(t, actors, len(ids))
	for i := range actors[1:] {
		require.Less(t, actors[i].box().x1, actors[i+1].box().x0)
	}
}

func TestSequence_ALongDiagramRepeatsItsParticipants(t *testing.T) {
	_, all := draw(t, seq("A->>B: x"))
	require.Len(t, with(all, "dg-actor"), 2)
	_, all = draw(t, seq(strings.Repeat("A->>B: x\n", 20)))
	require.Len(t, with(all, "dg-actor"), 4)
}
