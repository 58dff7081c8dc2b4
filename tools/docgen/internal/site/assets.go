package site

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// liveScript is for docgen serve, and is no part of a site that is published.
const liveScript = "live.js"

// assets are the files that every page loads.
type assets struct {
	files map[string][]byte // by path in the site
	paths map[string]string // the path in the site by plain name: site.css
}

// newAssets names each asset by its content, so that a server may let browsers
// keep it for ever.
func newAssets(live bool) assets {
	a := assets{map[string][]byte{}, map[string]string{}}
	names, err := fs.Glob(assetFiles, "assets/*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		if path.Base(name) == liveScript && !live {
			continue
		}
		content, err := assetFiles.ReadFile(name)
		if err != nil {
			panic(err) // it has just been listed, and lies in the program
		}
		ext := path.Ext(name)
		sum := sha256.Sum256(content)
		hashed := fmt.Sprintf("%s.%s%s", strings.TrimSuffix(name, ext), hex.EncodeToString(sum[:4]), ext)
		a.files[hashed] = content
		a.paths[path.Base(name)] = hashed
	}
	return a
}
