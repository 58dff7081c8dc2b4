package book

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// resolveEmbeds puts code where a paragraph is nothing but a link with the title
// "embed …".
func (l *loading) resolveEmbeds(p *page) {
	for link := range nodes[*ast.Link](p.Doc) {
		word, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(string(link.Title), "\t", " ")), " ")
		if !strings.HasPrefix(strings.ToLower(word), "embed") && !looksLikeEmbed(link) {
			continue
		}
		link.SetAttributeString("embed", true)
		if word != "embed" || !strings.HasPrefix(string(link.Title), "embed") {
			p.reportAt(link, "the title %q is nearly an embed's; it begins with the word embed and a space", link.Title)
			p.broken = true
			continue
		}
		paragraph, ok := link.Parent().(*ast.Paragraph)
		if !ok || paragraph.ChildCount() != 1 || paragraph.Parent() != p.Doc {
			p.reportAt(link, "an embed stands alone in its paragraph, not in a list or a quotation; put empty lines around the link")
			p.broken = true
			continue
		}
		embed := l.embed(p, link)
		if embed == nil {
			p.broken = true
			continue
		}
		replace(paragraph, embed)
		p.embeds = append(p.embeds, embed)
		p.expand(paragraph, embed)
	}
}

// looksLikeEmbed tells whether a link with another title has all else that an
// embed has: a misspelt one would be a link that nobody misses.
func looksLikeEmbed(link *ast.Link) bool {
	return len(link.Title) > 0 && link.Parent().ChildCount() == 1 && link.Parent().Kind() == ast.KindParagraph &&
		strings.Contains(string(link.Destination), ".go")
}

// embed cuts what a link asks for, or reports why it can't.
func (l *loading) embed(p *page, link *ast.Link) *Embed {
	modifiers, err := source.ParseModifiers(string(link.Title))
	if err != nil {
		p.reportAt(link, "%v", err)
		return nil
	}
	file, selector, err := l.target(string(link.Destination))
	if err != nil {
		p.reportAt(link, "%v", err)
		return nil
	}
	snippet, err := l.cut(file, selector, modifiers)
	if err != nil {
		if !errors.Is(err, errReported) {
			p.reportAt(link, "%v", err)
		}
		return nil
	}
	claim := Plain(link, p.Source)
	if claim == "" {
		p.reportAt(link, "an embed needs a text: the claim that the code shows")
	}
	embed := &Embed{
		Claim:     claim,
		Snippet:   snippet,
		ID:        p.ids.unique(embedID(snippet)),
		SourceURL: l.lines(snippet.Path, snippet.StartLine, snippet.EndLine),
		Folded:    snippet.Name == "",
	}
	l.attachTest(p, embed)
	if region, ok := strings.CutPrefix(snippet.Name, "region:"); ok {
		p.regions[snippet.Path+"#"+region] = true
	}
	return embed
}

// cut cuts a piece out of a file. That the file's Go or its markers are at fault
// is reported where they stand, and not at each place that names the file.
func (l *loading) cut(file, selector string, m source.Modifiers) (source.Snippet, error) {
	snippet, err := l.tree.Cut(file, selector, m)
	if err == nil {
		return snippet, nil
	}
	if faults := l.markerFaults(file); len(faults) > 0 {
		l.report(faults...)
		return source.Snippet{}, errReported
	}
	return source.Snippet{}, err
}

// markerFaults are what is wrong with a file's region markers.
func (l *loading) markerFaults(file string) []finding.Finding {
	if info, err := l.tree.Stat(file); err != nil || info.IsDir() {
		return nil
	}
	_, faults := l.tree.Regions(file)
	return faults
}

// attachTest finds the test that an embed is, or is a part of.
func (l *loading) attachTest(p *page, embed *Embed) {
	s := embed.Snippet
	if s.Name == "" {
		return
	}
	for _, test := range l.testsBelow(path.Dir(s.Path)) {
		if test.Path != s.Path || s.From < test.Line || s.To > test.EndLine {
			continue
		}
		name := test.Name
		if s.Test != "" {
			name = s.Test
		}
		embed.test = name
		// A quote ends the shell's quotation, stands for itself, and begins it again.
		pattern := strings.ReplaceAll(RunPattern(name), "'", `'\''`)
		embed.Command = fmt.Sprintf("go test -run '%s' %s", pattern, test.Package)
		result := l.result(test, name)
		embed.Result = &result
		if strings.HasPrefix(s.Path, p.Sample+"/") {
			p.shown[test.Name] = true
		}
		return
	}
}

// RunPattern is what go test -run takes for exactly this test.
func RunPattern(name string) string {
	levels := strings.Split(name, "/")
	for i, level := range levels {
		levels[i] = "^" + regexp.QuoteMeta(level) + "$"
	}
	return strings.Join(levels, "/")
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// embedID names a piece of code on its page by what it shows.
func embedID(s source.Snippet) string {
	name := s.Name
	if name == "" {
		name = path.Base(s.Path)
	}
	return strings.Trim(notInID.ReplaceAllString(name, "-"), "-")
}

// target resolves the destination of a link to a file of the repository, as
// seen from the articles' folder.
func (l *loading) target(destination string) (file, fragment string, err error) {
	before, fragment, _ := strings.Cut(destination, "#")
	if fragment, err = url.PathUnescape(fragment); err != nil {
		return "", "", fmt.Errorf("the fragment of %s is badly escaped: %w", destination, err)
	}
	if before, err = url.PathUnescape(before); err != nil {
		return "", "", fmt.Errorf("%s is badly escaped: %w", destination, err)
	}
	if strings.HasPrefix(before, "/") {
		return "", "", fmt.Errorf("%s begins at the root, which is another one on GitHub and on the site; write it relative to the article", destination)
	}
	file = path.Join(articlesDir, before)
	if file == ".." || strings.HasPrefix(file, "../") {
		return "", "", fmt.Errorf("%s leaves the repository; link to files in it, or give an address with https://", destination)
	}
	return file, fragment, nil
}
