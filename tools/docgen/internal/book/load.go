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
	"sync"
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

	// DropStale takes results of other sources for none. It is for a site that is
	// being written.
	DropStale bool
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

	unreadable map[string]bool // folders whose tests can't be parsed
	stale      map[string]bool // folders whose results are of other sources
}

// Load reads and checks the book. What is wrong with it is in its Findings; the
// rest of a book with findings must not be shown.
func (ld *Loader) Load(o Options) (*Book, error) {
	l := &loading{
		tree: ld.tree, options: o, book: &Book{Images: map[string][]byte{}},
		pages: map[string]*page{}, testsIn: map[string][]source.Test{}, exports: map[string]map[string]bool{},
		unreadable: map[string]bool{}, stale: map[string]bool{},
	}
	l.checkResults()
	ld.tree.Refresh()
	files, err := ld.tree.Files(articlesDir)
	if err != nil {
		return nil, err
	}
	var articles []string
	for _, file := range files {
		if path.Ext(file) != ".md" && path.Ext(file) != ".markdown" {
			continue
		}
		if path.Ext(file) != ".md" || path.Dir(file) != articlesDir {
			l.report(finding.Finding{File: file, Message: "an article is a file articles/….md itself, not one in a folder or with another ending"})
			continue
		}
		articles = append(articles, file)
	}
	for _, p := range l.newPages(articles) {
		l.pages[p.Slug] = p
	}
	for _, p := range l.ordered() {
		l.checkAfter(p)
		l.resolve(p)
	}
	l.checkSamples()
	l.readTopics()
	l.checkCategories()
	ld.finish(l)
	return l.book, nil
}

// newPages reads articles, each by itself and so all at the same time.
func (l *loading) newPages(files []string) []*page {
	pages, errs := make([]*page, len(files)), make([]error, len(files))
	var reading sync.WaitGroup
	for i, file := range files {
		reading.Go(func() {
			var text []byte
			if text, errs[i] = l.tree.Read(file); errs[i] == nil {
				pages[i] = newPage(file, text)
			}
		})
	}
	reading.Wait()
	for i, err := range errs {
		if err != nil {
			l.report(finding.Finding{File: files[i], Message: err.Error()})
		}
	}
	return slices.DeleteFunc(pages, func(p *page) bool { return p == nil })
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
	if l.testsBelow(p.Sample); !l.unreadable[p.Sample] {
		l.checkCommands(p)
		l.checkOutputs(p)
		l.checkBreaks(p)
	}
	p.EditURL = l.options.Repo + "/edit/main/" + escapePath(p.Path)
	p.Updated = l.options.Updated[p.Path]
	p.Tests = l.tally(p)
	p.Markdown = p.markdown()
}

// tally counts how the sample's tests ended. What nobody has recorded has not
// run.
func (l *loading) tally(p *page) results.Tally {
	if l.options.Results == nil || l.stale[p.Sample] {
		return results.Tally{NotRun: len(l.testsBelow(p.Sample))}
	}
	return l.options.Results.Tally(p.Sample)
}

// result is what was recorded of a test, or of a subtest of it.
func (l *loading) result(test source.Test, name string) results.Result {
	dir := strings.TrimPrefix(test.Package, "./")
	if l.stale[dir] {
		return results.Result{Status: results.NotRun}
	}
	return l.options.Results.Test(dir, name)
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
	for _, stale := range l.options.Results.Stale(l.tree) {
		if l.options.DropStale {
			l.stale[stale.Dir] = true
			continue
		}
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
		l.unreadable[dir] = true
		l.reportFolder(dir, err)
	}
	l.testsIn[dir] = tests
	return tests
}

// exported is the API of a package of ours.
func (l *loading) exported(dir string) (map[string]bool, error) {
	if api, ok := l.exports[dir]; ok {
		return api, nil
	}
	if l.unreadable[dir] {
		return nil, errReported
	}
	api, err := l.tree.Exported(dir)
	if err != nil {
		l.unreadable[dir] = true
		l.reportFolder(dir, err)
		return nil, errReported
	}
	l.exports[dir] = api
	return api, nil
}

// errReported: what is wrong is a finding already, where it stands, and what
// follows from it is none.
var errReported = errors.New("it has been reported")

// reportFolder reports why the Go files of a folder can't be read, at the place
// of the fault where that is known.
func (l *loading) reportFolder(dir string, err error) {
	files, _ := l.tree.Files(dir)
	for _, file := range files {
		if path.Ext(file) != ".go" || path.Dir(file) != dir && !strings.HasPrefix(dir, samplesDir) {
			continue
		}
		if faults := l.markerFaults(file); len(faults) > 0 {
			l.report(faults...)
			return
		}
	}
	l.report(finding.Finding{File: dir, Message: err.Error()})
}

// checkCategories wants a category to be written in one way.
func (l *loading) checkCategories() {
	seen := map[string]string{}
	for _, p := range l.ordered() {
		key := strings.ToLower(p.Category)
		if before, ok := seen[key]; ok && before != p.Category {
			p.report(frontLine(p.head, "category"), 1, "front matter: category %q is %q elsewhere; write it in one way", p.Category, before)
			continue
		}
		seen[key] = p.Category
	}
}
