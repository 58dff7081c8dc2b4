package site

import (
	"embed"
	"html/template"

	"github.com/relay-samples/relay-go/tools/docgen/internal/highlight"
)

//go:embed figures
var figureFiles embed.FS

// figures are the templates of the nodes that are ours.
var figures = template.Must(template.ParseFS(figureFiles, "figures/*.html"))

// highlighted is code as HTML. Without its tags it is the code, byte by byte:
// what the copy buttons read.
func highlighted(lang string, code []byte, marked []int) template.HTML {
	if lang == "go" {
		return template.HTML(highlight.Go(code, marked))
	}
	return template.HTML(highlight.Code(lang, string(code)))
}
