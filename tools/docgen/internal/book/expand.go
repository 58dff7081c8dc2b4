package book

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// edit replaces a stretch of the article's source in its .md.
type edit struct {
	from, to int
	with     string
}

// expand replaces an embed by a fence with its code.
func (p *page) expand(paragraph ast.Node, embed *Embed) {
	lines := paragraph.Lines()
	from, to := lines.At(0).Start, lines.At(lines.Len()-1).Stop
	fence := "```"
	for bytes.Contains(embed.Snippet.Code, []byte(fence)) {
		fence += "`"
	}
	name := embed.Snippet.Path
	if embed.Snippet.Name != "" {
		name += " · " + embed.Snippet.Name
	}
	with := fmt.Sprintf("%s ([%s](%s)):\n\n%s%s\n%s%s\n", embed.Claim, name, embed.SourceURL,
		fence, embed.Snippet.Lang, embed.Snippet.Code, fence)
	if embed.Command != "" {
		with += fmt.Sprintf("\nRun it with `%s` (when this page was made: %s).\n", embed.Command, embed.Result.Line())
	}
	p.edits = append(p.edits, edit{from, to, with})
}

// relink replaces the destination of a link.
func (p *page) relink(link ast.Node, old, with string) {
	if old == with {
		return
	}
	from := position(link)
	before := "]("
	i := bytes.Index(p.Source[from:], []byte(before+old))
	if i < 0 {
		before = "](<"
		i = bytes.Index(p.Source[from:], []byte(before+old))
	}
	if i < 0 { // a reference, whose definition stands elsewhere
		p.reportAt(link, "write the address of %s into the link itself: [text](address)", old)
		return
	}
	from += i + len(before)
	p.edits = append(p.edits, edit{from, from + len(old), with})
}

// markdown is the article with its embeds expanded and its links mended.
func (p *page) markdown() []byte {
	slices.SortFunc(p.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s\n", p.Title, p.Summary)
	for _, list := range []struct {
		title string
		items []string
	}{{"What you will learn", p.Learn}, {"What you should know already", p.Know}} {
		if len(list.items) > 0 {
			fmt.Fprintf(&b, "\n%s:\n\n- %s\n", list.title, strings.Join(list.items, "\n- "))
		}
	}
	b.WriteByte('\n')
	at := p.bodyStart
	for at < len(p.Source) && p.Source[at] == '\n' {
		at++
	}
	for _, e := range p.edits {
		if e.from < at { // within something that has been replaced
			continue
		}
		b.Write(p.Source[at:e.from])
		b.WriteString(e.with)
		at = e.to
	}
	b.Write(p.Source[at:])
	return b.Bytes()
}
