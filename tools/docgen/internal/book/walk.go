package book

import (
	"iter"

	"github.com/yuin/goldmark/ast"
)

// nodes are the nodes of one type below root, in the order of the page. The tree
// may be changed while they are visited: they are collected before.
func nodes[T ast.Node](root ast.Node) iter.Seq[T] {
	var found []T
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if wanted, ok := n.(T); ok && entering {
			found = append(found, wanted)
		}
		return ast.WalkContinue, nil
	})
	return func(yield func(T) bool) {
		for _, n := range found {
			if !yield(n) {
				return
			}
		}
	}
}

// replace puts a node in another's place.
func replace(old, with ast.Node) { old.Parent().ReplaceChild(old.Parent(), old, with) }
