package mermaid

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-graphviz"
)

// engine is the one Graphviz of the process. The library keeps all instances in
// one WebAssembly memory without a lock, so separate instances would be no safer.
//
// Only graphs that this package writes reach it: names that it numbers, and
// sizes. A source that is at fault is refused before, and so cannot leave
// anything behind in that memory.
type engine struct {
	mu sync.Mutex // guards all use of gv; taken by nobody else
	gv *graphviz.Graphviz
}

var layouter engine

// placed is what Graphviz answers, as its format json0 names it. Lengths are in
// points, and y grows upwards.
type placed struct {
	BB      string `json:"bb"`
	Objects []struct {
		Name string `json:"name"`
		BB   string `json:"bb"` // of a cluster
		LP   string `json:"lp"` // centre of a cluster's label
		Pos  string `json:"pos"`
	} `json:"objects"`
	Edges []struct {
		ID  string `json:"id"`
		Pos string `json:"pos"`
		LP  string `json:"lp"`
	} `json:"edges"`
}

// layout places a graph in Graphviz' language.
func (e *engine) layout(dot string) (*placed, error) {
	text, err := e.render(dot)
	if err != nil {
		return nil, fmt.Errorf("graphviz: %w", err)
	}
	p := &placed{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("graphviz: its answer: %w", err)
	}
	return p, nil
}

func (e *engine) render(dot string) (text []byte, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() {
		if r := recover(); r != nil { // the library's own way of reporting a trap
			err = fmt.Errorf("%v", r)
		}
	}()

	ctx := context.Background()
	if e.gv == nil {
		if e.gv, err = graphviz.New(ctx); err != nil {
			return nil, err
		}
	}
	graph, err := graphviz.ParseBytes([]byte(dot))
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := graph.Close(); err == nil {
			err = closeErr
		}
	}()

	var b bytes.Buffer
	if err := e.gv.Render(ctx, graph, "json0", &b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// spline is one curve of an edge: points of a Bézier path, and the tips that
// Graphviz kept free at its ends.
type spline struct {
	points           []point
	tail, head       point
	hasTail, hasHead bool
}

func (s spline) reversed() spline {
	r := spline{tail: s.head, head: s.tail, hasTail: s.hasHead, hasHead: s.hasTail}
	for i := len(s.points) - 1; i >= 0; i-- {
		r.points = append(r.points, s.points[i])
	}
	return r
}

// flip turns Graphviz' coordinates, where y grows upwards, into SVG's.
type flip struct{ height float64 }

func (f flip) point(text string) point {
	v := floats(text)
	if len(v) < 2 {
		return point{}
	}
	return point{v[0], f.height - v[1]}
}

func (f flip) box(text string) box {
	v := floats(text)
	if len(v) < 4 {
		return box{}
	}
	return box{v[0], f.height - v[3], v[2], f.height - v[1]}
}

// spline reads "s,x,y e,x,y x,y x,y …".
func (f flip) spline(text string) spline {
	var s spline
	for _, field := range strings.Fields(text) {
		switch {
		case strings.HasPrefix(field, "s,"):
			s.tail, s.hasTail = f.point(field[2:]), true
		case strings.HasPrefix(field, "e,"):
			s.head, s.hasHead = f.point(field[2:]), true
		default:
			s.points = append(s.points, f.point(field))
		}
	}
	return s
}

func floats(text string) []float64 {
	var out []float64
	for _, field := range strings.Split(strings.TrimSuffix(text, "!"), ",") {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil
		}
		out = append(out, v)
	}
	return out
}
