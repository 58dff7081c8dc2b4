package book

import (
	"bytes"
	"regexp"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
)

var (
	unresolved     = regexp.MustCompile(`\[[^\[\]\n]*\]\[[^\[\]\n]*\]|\[\^[^\[\]\s]+\]`)
	footnoteBegins = regexp.MustCompile(`(?m)^\[\^([^\]\s]+)\]:`)
	fenceEnds      = regexp.MustCompile("^[ >]*(?:```|~~~)")
)

// checkReferences finds what Markdown passes over without a word: references and
// footnotes that nobody has defined, footnotes that nobody refers to, and fences
// that are never closed.
func (p *page) checkReferences() {
	for block := range nodes[ast.Node](p.Doc) {
		if block.Type() != ast.TypeBlock || block.FirstChild() == nil || block.FirstChild().Type() != ast.TypeInline {
			continue
		}
		if m := unresolved.FindString(proseOf(block, p.Source)); m != "" {
			p.reportAt(block, "%s refers to nothing; define it, or write the address into the link itself", m)
		}
	}
	code := p.checkFences()
	used := map[string]bool{}
	for note := range nodes[*extension.Footnote](p.Doc) {
		used[string(note.Ref)] = true
	}
	for _, m := range footnoteBegins.FindAllSubmatchIndex(p.Source, -1) {
		if name := string(p.Source[m[2]:m[3]]); !used[name] && !code.contains(m[0]) {
			line, col := p.place(m[0])
			p.report(line, col, "nothing refers to the footnote [^%s]; refer to it, or take it away", name)
		}
	}
}

// proseOf is the text of a block without its code and its links.
func proseOf(block ast.Node, source []byte) string {
	var b bytes.Buffer
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeSpan:
			if entering {
				b.WriteByte('`')
			}
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte('\n')
				}
			}
		case *ast.Link, *ast.Image:
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// stretches are parts of the source.
type stretches [][2]int

func (s stretches) contains(at int) bool {
	for _, part := range s {
		if part[0] <= at && at < part[1] {
			return true
		}
	}
	return false
}

// checkFences wants each fence closed, and returns where code stands.
func (p *page) checkFences() (code stretches) {
	for fence := range nodes[*ast.FencedCodeBlock](p.Doc) {
		begins := position(fence)
		end := begins + bytes.IndexByte(append(p.Source[begins:len(p.Source):len(p.Source)], '\n'), '\n') + 1
		if lines := fence.Lines(); lines.Len() > 0 {
			end = lines.At(lines.Len() - 1).Stop
		}
		end = min(end, len(p.Source))
		code = append(code, [2]int{begins, end})
		if !fenceEnds.Match(p.Source[end:]) {
			p.reportAt(fence, "the fence is never closed; write ``` on a line after its content")
		}
	}
	return code
}
