package site

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // so that DecodeConfig knows the formats that articles may use
	_ "image/jpeg"
	_ "image/png"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// imageSizes are the widths and heights of images, by path in the site.
type imageSizes map[string]image.Point

// measureImages leaves out what has no size in pixels, such as SVG.
func measureImages(images map[string][]byte) imageSizes {
	sizes := imageSizes{}
	for path, content := range images {
		if c, _, err := image.DecodeConfig(bytes.NewReader(content)); err == nil {
			sizes[path] = image.Pt(c.Width, c.Height)
		}
	}
	return sizes
}

// imageRenderer tells the browser how large an image is, so that the text below
// does not move when it has been loaded.
type imageRenderer struct{ sizes imageSizes }

func (r *imageRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindImage, r.render)
}

func (r *imageRenderer) render(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	destination := n.(*ast.Image).Destination
	_, _ = fmt.Fprintf(w, `<img src="%s" alt="%s" loading="lazy"`,
		util.EscapeHTML(util.URLEscape(destination, true)), util.EscapeHTML([]byte(book.Plain(n, source))))
	if size, ok := r.sizes[string(destination)]; ok {
		_, _ = fmt.Fprintf(w, ` width="%d" height="%d"`, size.X, size.Y)
	}
	_ = w.WriteByte('>')
	return ast.WalkSkipChildren, nil
}
