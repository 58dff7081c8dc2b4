package book

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

// Options are what the book needs to know beside the repository.
type Options struct {
	Module  string               // the path of the repository's module
	Repo    string               // its address, such as https://github.com/relay-samples/relay-go
	Rev     string               // the commit that links to the source lead to
	Updated map[string]time.Time // when an article last changed, by its path
	Results *results.Set         // nil when nothing has been recorded
	From    string               // the results' file, for findings
}

// Loader reads the book, again and again while it is being written.
type Loader struct {
	tree *source.Tree
	kept map[string]kept
}

// kept is an article as it was last read, with the hash of all it depends on.
type kept struct {
	hash    [sha256.Size]byte
	article *Article
}

// NewLoader returns a Loader for a repository.
func NewLoader(tree *source.Tree) *Loader { return &Loader{tree: tree, kept: map[string]kept{}} }

// loading is one reading of the book.
type loading struct {
	tree     *source.Tree
	options  Options
	book     *Book
	pages    map[string]*page // by slug
	testsIn  map[string][]source.Test
	exports  map[string]map[string]bool
	findings []finding.Finding
}

// Load reads and checks the book. What is wrong with it is in its Findings; the
// rest of a book with findings must not be shown.
func (ld *Loader) Load(o Options) (*Book, error) {
	l := &loading{
		tree: ld.tree, options: o, book: &Book{Images: map[string][]byte{}},
		pages: map[string]*page{}, testsIn: map[string][]source.Test{}, exports: map[string]map[string]bool{},
	}
	files, err := ld.tree.Files(articlesDir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if path.Ext(file) != ".md" || path.Dir(file) != articlesDir {
			continue
		}
		text, err := ld.tree.Read(file)
		if err != nil {
			return nil, err
		}
		p := newPage(file, text)
		l.pages[p.Slug] = p
	}
	for _, p := range l.ordered() {
		l.checkAfter(p)
		l.resolve(p)
	}
	l.checkSamples()
	l.readTopics()
	l.checkResults()
	ld.finish(l)
	return l.book, nil
}

// resolve turns a parsed page into one that can be shown.
func (l *loading) resolve(p *page) {
	l.resolveEmbeds(p)
	l.resolveFences(p)
	p.collectSections()
	p.collectClaims()
	p.resolveAlerts()
	p.checkHTML()
	l.resolveImages(p)
	l.resolveLinks(p)
	l.checkNames(p)
	l.checkCommands(p)
	l.checkOutputs(p)
	l.checkBreaks(p)
	p.EditURL = l.options.Repo + "/edit/main/" + escapePath(p.Path)
	p.Updated = l.options.Updated[p.Path]
	p.Tests = l.tally(p)
	p.Markdown = p.markdown()
}

// tally counts how the sample's tests ended. Those that have not been recorded
// have not run.
func (l *loading) tally(p *page) results.Tally {
	var t results.Tally
	for _, test := range l.testsBelow(p.Sample) {
		switch l.result(test, test.Name).Status {
		case results.Passed:
			t.Passed++
		case results.Failed:
			t.Failed++
		case results.Skipped:
			t.Skipped++
		default:
			t.NotRun++
		}
	}
	return t
}

// result is what was recorded of a test, or of a subtest of it.
func (l *loading) result(test source.Test, name string) results.Result {
	if l.options.Results == nil {
		return results.Result{Status: results.NotRun}
	}
	return l.options.Results.Test(strings.TrimPrefix(test.Package, "./"), name)
}

// finish collects what the pages have, and keeps those articles that are as they
// were: whoever renders them can keep what was rendered.
func (ld *Loader) finish(l *loading) {
	for _, p := range l.ordered() {
		l.report(p.findings...)
		l.book.Commands = append(l.book.Commands, p.commands...)
		l.book.Breaks = append(l.book.Breaks, p.breaks...)
		hash := p.hash()
		if before, ok := ld.kept[p.Slug]; ok && before.hash == hash {
			l.adopt(p, before.article)
		}
		ld.kept[p.Slug] = kept{hash, p.Article}
		l.book.Articles = append(l.book.Articles, p.Article)
	}
	l.book.Findings = finding.Sort(l.findings)
}

// adopt puts an article that has been read before in the place of a new one.
func (l *loading) adopt(p *page, before *Article) {
	for i := range l.book.Topics {
		if l.book.Topics[i].Article == p.Article {
			l.book.Topics[i].Article = before
		}
	}
	for _, other := range l.pages {
		for i := range other.After {
			if other.After[i] == p.Article {
				other.After[i] = before
			}
		}
	}
	p.Article = before
}

// hash covers all that a page shows: its text, the code that it embeds, what was
// recorded of its tests, and where its links lead.
func (p *page) hash() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%+v\n%v\n%s\n", p.Markdown, p.Source, p.Tests, p.Updated, p.EditURL)
	fmt.Fprintf(h, "%q\n", []any{p.Title, p.Summary, p.Category, p.Level, p.Needs, p.after, p.Know, p.Learn, p.Concepts})
	for _, after := range p.After {
		fmt.Fprintf(h, "%q\n", after.Title)
	}
	for _, e := range p.embeds {
		fmt.Fprintf(h, "%s %v %s %s %+v\n%s\n", e.Snippet.Name, e.Snippet.Marked, e.SourceURL, e.Command, e.Result, e.Snippet.Code)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// checkResults wants the recorded results to be those of the sources at hand.
func (l *loading) checkResults() {
	if l.options.Results == nil {
		return
	}
	for _, stale := range l.options.Results.Stale(l.tree) {
		l.report(finding.Finding{File: l.options.From, Line: stale.Line, Message: fmt.Sprintf(
			"the results of %s were recorded from other sources (%s); record them again with make docs", stale.Dir, stale.Why)})
	}
}

func (l *loading) report(findings ...finding.Finding) { l.findings = append(l.findings, findings...) }

// ordered are the pages by slug.
func (l *loading) ordered() []*page {
	return slices.SortedFunc(maps.Values(l.pages), func(a, b *page) int { return cmp.Compare(a.Slug, b.Slug) })
}

// article is the page of a file, nil when it is none.
func (l *loading) article(file string) *page {
	if path.Dir(file) != articlesDir || path.Ext(file) != ".md" {
		return nil
	}
	return l.pages[strings.TrimSuffix(path.Base(file), ".md")]
}

// testsBelow are the tests of a folder and the folders below it.
func (l *loading) testsBelow(dir string) []source.Test {
	if tests, ok := l.testsIn[dir]; ok {
		return tests
	}
	tests, err := l.tree.Tests(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // what does not exist is reported where it is named
		l.report(finding.Finding{File: dir, Message: err.Error()})
	}
	l.testsIn[dir] = tests
	return tests
}

// exported is the API of a package of ours.
func (l *loading) exported(dir string) (map[string]bool, error) {
	if api, ok := l.exports[dir]; ok {
		return api, nil
	}
	api, err := l.tree.Exported(dir)
	if err == nil {
		l.exports[dir] = api
	}
	return api, err
}
