package book

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// resolveLinks checks every link and turns it into what it has to be on the
// site: another page, or the source at the revision.
func (l *loading) resolveLinks(p *page) {
	for link := range nodes[*ast.Link](p.Doc) {
		if _, embed := link.AttributeString("embed"); embed { // and not resolved
			continue
		}
		old := string(link.Destination)
		destination, err := l.destination(p, old)
		if err != nil {
			p.reportAt(link, "%v", err)
			continue
		}
		if strings.TrimSpace(Plain(link, p.Source)) == "" && !hasImage(link) {
			p.reportAt(link, "the link to %s has no text", old)
		}
		link.Destination = []byte(destination)
		p.relink(link, old, l.absolute(p, destination))
	}
	for link := range nodes[*ast.AutoLink](p.Doc) {
		if link.AutoLinkType == ast.AutoLinkURL {
			if _, err := l.destination(p, string(link.URL(p.Source))); err != nil {
				p.reportAt(link, "%v", err)
			}
		}
	}
}

func hasImage(n ast.Node) bool {
	for range nodes[*ast.Image](n) {
		return true
	}
	return false
}

// destination is where a link leads on the site.
func (l *loading) destination(p *page, old string) (string, error) {
	switch u, err := url.Parse(old); {
	case err != nil:
		return "", fmt.Errorf("%s is no address: %w", old, err)
	case old == "":
		return "", errors.New("the link leads nowhere; put its address between the parentheses")
	case u.Scheme == "mailto", (u.Scheme == "https" || u.Scheme == "http") && u.Host != "":
		return old, nil
	case u.Scheme != "" || u.Host != "":
		return "", fmt.Errorf("%s: links begin with https://, or are relative to the article", old)
	case strings.HasPrefix(old, "#"):
		if u.Fragment == p.titleID {
			return p.Slug + ".html", nil
		}
		return old, l.fragmentOf(p, p, u.Fragment)
	}
	file, fragment, err := l.target(old)
	if err != nil {
		return "", err
	}
	if to := l.article(file); to != nil {
		if fragment == "" || fragment == to.titleID {
			return to.Slug + ".html", nil
		}
		return to.Slug + ".html#" + fragment, l.fragmentOf(p, to, fragment)
	}
	return l.sourceLink(p, file, fragment)
}

// fragmentOf says whether a page has a heading with this id.
func (l *loading) fragmentOf(from, to *page, fragment string) error {
	if _, ok := to.headings[fragment]; ok {
		return nil
	}
	where := "this article"
	if from != to {
		where = to.Path
	}
	return fmt.Errorf("#%s: %s has no such heading%s", fragment, where, known(to, fragment))
}

// known says which headings a page has in place of one that it has not.
func known(p *page, fragment string) string {
	return source.Instead(fragment, slices.Sorted(maps.Keys(p.headings)))
}

var lineRange = regexp.MustCompile(`^L(\d+)(?:-L(\d+))?$`)

// sourceLink is the address of a file that is no article, at the revision.
func (l *loading) sourceLink(p *page, file, fragment string) (string, error) {
	info, err := l.tree.Stat(file)
	if err != nil {
		return "", fmt.Errorf("%s does not exist in the repository; mend the path", file)
	}
	if info.IsDir() {
		if fragment != "" {
			return "", fmt.Errorf("%s is a folder, which has no #%s", file, fragment)
		}
		return l.options.Repo + "/tree/" + l.options.Rev + "/" + escapePath(file), nil
	}
	switch {
	case fragment == "":
		return l.blob(file), nil
	case path.Ext(file) == ".md":
		return l.blob(file) + "#" + fragment, l.fragmentOfFile(file, fragment)
	case lineRange.MatchString(fragment):
		return l.blob(file) + "#" + fragment, l.linesExist(file, fragment)
	}
	for _, embed := range p.embeds { // shown on this very page
		if embed.Snippet.Path == file && embed.Snippet.Name == fragment {
			return "#" + embed.ID, nil
		}
	}
	snippet, err := l.cut(file, fragment, source.Modifiers{})
	switch {
	case errors.Is(err, errReported):
		return l.blob(file), nil
	case err != nil:
		return "", err
	}
	return l.lines(file, snippet.StartLine, snippet.EndLine), nil
}

func (l *loading) fragmentOfFile(file, fragment string) error {
	text, err := l.tree.Read(file)
	if err != nil {
		return err
	}
	ids := slugs{}
	for h := range nodes[*ast.Heading](parse(text)) {
		if ids.heading(headingText(h, text)) == fragment {
			return nil
		}
	}
	return fmt.Errorf("#%s: %s has no such heading", fragment, file)
}

func (l *loading) linesExist(file, fragment string) error {
	text, err := l.tree.Read(file)
	if err != nil {
		return err
	}
	lines := strings.Count(strings.TrimSuffix(string(text), "\n"), "\n") + 1
	m := lineRange.FindStringSubmatch(fragment)
	from, _ := strconv.Atoi(m[1])
	to := from
	if m[2] != "" {
		to, _ = strconv.Atoi(m[2])
	}
	if from < 1 || to < from || to > lines {
		return fmt.Errorf("#%s: %s has lines 1 to %d; better link to a name, such as #TestX, which moves along", fragment, file, lines)
	}
	return nil
}

func (l *loading) blob(file string) string {
	return l.options.Repo + "/blob/" + l.options.Rev + "/" + escapePath(file)
}

func (l *loading) lines(file string, from, to int) string {
	return fmt.Sprintf("%s#L%d-L%d", l.blob(file), from, to)
}

func escapePath(file string) string { return (&url.URL{Path: file}).EscapedPath() }

// absolute is a destination as it must stand in the .md of a page, which has no
// place of its own for the source links of its embeds.
func (l *loading) absolute(p *page, destination string) string {
	if strings.HasPrefix(destination, "#") {
		for _, embed := range p.embeds {
			if "#"+embed.ID == destination {
				return embed.SourceURL
			}
		}
	}
	if slug, rest, ok := strings.Cut(destination, ".html"); ok && l.pages[slug] != nil {
		return slug + ".md" + rest
	}
	return destination
}
