package book

import (
	"bytes"
	"net/http"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// resolveImages checks the images and takes them along to the site.
func (l *loading) resolveImages(p *page) {
	for image := range nodes[*ast.Image](p.Doc) {
		old := string(image.Destination)
		if strings.TrimSpace(Plain(image, p.Source)) == "" {
			p.reportAt(image, "the image %s has no text alternative; say between the brackets what it shows", old)
		}
		if strings.Contains(old, "://") || strings.HasPrefix(old, "//") {
			p.reportAt(image, "the image %s comes from elsewhere; put it into the repository, since a page makes no foreign request", old)
			continue
		}
		file, _, err := l.target(old)
		if err != nil {
			p.reportAt(image, "%v", err)
			continue
		}
		content, err := l.tree.ReadBytes(file)
		if err != nil {
			p.reportAt(image, "the image %s can't be shown: %v", old, err)
			continue
		}
		if !imageTypes[strings.ToLower(path.Ext(file))] {
			p.reportAt(image, "%s is no image that a page shows; use .svg, .png, .jpg, .gif or .webp", file)
			continue
		}
		if !isImage(content) {
			p.reportAt(image, "%s is no image inside; put one there", file)
			continue
		}
		name := "images/" + file // with its folders, so that no two share a name
		l.book.Images[name] = content
		image.Destination = []byte(name)
		p.relink(image, old, name)
	}
}

// isImage looks at what is in a file, as a browser does.
func isImage(content []byte) bool {
	return strings.HasPrefix(http.DetectContentType(content), "image/") || bytes.Contains(content, []byte("<svg"))
}

var imageTypes = map[string]bool{".svg": true, ".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true}
