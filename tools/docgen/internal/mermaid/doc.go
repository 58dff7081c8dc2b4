// Package mermaid draws the subset of Mermaid that the articles use as SVG.
//
// GitHub draws the same fences with Mermaid itself, so the package refuses
// whatever Mermaid would refuse, and whatever it does not draw itself. Nothing
// is skipped: each fault is an Error with its line and the mend.
//
// # The subset
//
// Flowcharts (flowchart and graph; TD, TB, BT, LR, RL): the shapes [ ], ( ),
// ([ ]), [[ ]], [( )], (( )), { }, {{ }} and > ]; quoted labels, <br/>, entities
// such as #lt; and &lt;; solid, dotted and thick edges of any length with
// arrows, circles, crosses or nothing at either end; labels in bars or inside
// the edge; chains, &, subgraphs with their own direction.
//
// Sequence diagrams: participant, actor, the eight plain arrows, activation,
// notes, alt, opt, loop, par, critical, break, autonumber.
//
// Both need accTitle and accDescr: they become <title> and <desc>, and without
// them a reader who does not see the picture has nothing.
//
// # Limits
//
// Graphviz lays flowcharts out; it knows no fonts, so text is measured by a
// table of average widths. A page whose font is much wider than Arial will have
// labels that nearly fill their boxes. A drawing has its natural size in width
// and height; on a narrow page let a wide one scroll rather than shrink to
// nothing.
//
// What Mermaid refuses is known from its grammar, not from running it.
//
// # Classes
//
// Colours belong to the page. Every element that can be coloured has a class,
// and without a style sheet everything is drawn in currentColor:
//
//	dg               the svg element, with dg-flowchart or dg-sequence
//	dg-cluster       frame of a subgraph (rect)
//	dg-cluster-title its title (text)
//	dg-back          rectangle behind a text that a line may cross; give it the
//	                 fill of dg-cluster in dg-flowchart, of the page in dg-sequence
//	dg-node          outline of a node (rect, path, circle or polygon), with
//	                 dg-decision for { } and dg-store for [( )]
//	dg-trim          a second line in a node: a cylinder's rim, the bars of [[ ]]
//	dg-edge          line of an edge or a message (path), with dg-dotted, dg-thick
//	dg-arrow         filled head (polygon); fill it like the line's stroke
//	dg-tip           open head: circle, cross or angle (circle, path without fill)
//	dg-label         text in a node, an actor or a note
//	dg-edge-label    text on an edge or a message
//	dg-actor         box or figure of a participant
//	dg-life          lifeline (path)
//	dg-bar           activation (rect)
//	dg-note          note (rect)
//	dg-frame         frame of alt, opt, loop, par, critical, break (rect)
//	dg-tab           its corner with the kind (polygon); fill it, bars cross it
//	dg-divider       line before else, and, option (path)
//	dg-frame-label   kind and condition of a frame (text)
//	dg-number        disc of a message's number (circle)
//	dg-number-label  the number (text)
package mermaid
