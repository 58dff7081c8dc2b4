package book

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
)

// checkSamples wants an article for each sample and the reverse, each test shown
// or listed as unshown, and each region used.
func (l *loading) checkSamples() {
	names, err := l.tree.Files(samplesDir)
	if err != nil {
		l.report(finding.Finding{File: samplesDir, Message: err.Error()})
		return
	}
	samples := map[string]bool{}
	for _, file := range names {
		rest := strings.TrimPrefix(file, samplesDir+"/")
		if sample, _, inFolder := strings.Cut(rest, "/"); inFolder {
			samples[sample] = true
		}
	}
	for _, sample := range slices.Sorted(maps.Keys(samples)) {
		if l.pages[sample] == nil {
			l.report(finding.Finding{File: path.Join(samplesDir, sample), Message: "no article shows this sample; write " + articlesDir + "/" + sample + ".md (docgen new " + sample + " begins one)"})
		}
	}
	for _, p := range l.ordered() {
		if p.broken && len(p.Source) == 0 { // given up
			continue
		}
		if !samples[p.Slug] {
			p.report(1, 1, "there is no sample %s; an article has the name of the sample that it shows", p.Sample)
			continue
		}
		l.checkShown(p)
	}
	core, err := l.tree.Files("relay")
	if err == nil {
		names = append(names, core...)
	}
	l.checkRegions(names)
}

func (l *loading) checkShown(p *page) {
	if l.testsBelow(p.Sample); p.broken || l.unreadable[p.Sample] {
		return
	}
	exist := map[string]bool{}
	for _, test := range l.testsBelow(p.Sample) {
		_, unshown := p.Unshown[test.Name]
		switch {
		case exist[test.Name]:
			l.report(finding.Finding{File: test.Path, Line: test.Line, Message: "the sample has another " + test.Name + "; give one of them another name"})
		case !p.shown[test.Name] && !unshown:
			l.report(finding.Finding{File: test.Path, Line: test.Line, Message: test.Name + " is not shown: embed it in " + p.Path + ", or list it there under unshown with a reason"})
		case p.shown[test.Name] && unshown:
			p.report(frontLine(p.head, test.Name), 1, "front matter: %s is listed as unshown and yet embedded; take it from the list", test.Name)
		}
		exist[test.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(p.Unshown)) {
		if !exist[name] {
			p.report(frontLine(p.head, name), 1, "front matter: unshown %s: %s has no such test", name, p.Sample)
		}
	}
}

// checkRegions wants the markers of every sample's files paired, and each region
// embedded by some article.
func (l *loading) checkRegions(files []string) {
	used, broken := map[string]bool{}, false
	for _, p := range l.pages {
		maps.Copy(used, p.regions)
		broken = broken || p.broken
	}
	for _, file := range files {
		regions, faults := l.tree.Regions(file)
		l.report(faults...)
		for _, region := range regions {
			if !broken && !used[file+"#"+region.Name] {
				l.report(finding.Finding{File: file, Line: region.Line, Message: "no article embeds region " + region.Name + "; embed it, or take its markers out"})
			}
		}
	}
}

// checkAfter turns the prerequisites into articles, and wants no circle.
func (l *loading) checkAfter(p *page) {
	for _, slug := range p.after {
		to := l.pages[slug]
		switch {
		case slug == p.Slug:
			p.report(frontLine(p.head, "after"), 1, "front matter: after %q: an article does not come after itself", slug)
		case to == nil:
			p.report(frontLine(p.head, "after"), 1, "front matter: after %q: there is no such article", slug)
		case l.leadsTo(to, p.Slug, map[string]bool{}):
			p.report(frontLine(p.head, "after"), 1, "front matter: after %q: that one comes after this one, so neither could be read first", slug)
		default:
			p.After = append(p.After, to.Article)
		}
	}
}

func (l *loading) leadsTo(from *page, slug string, seen map[string]bool) bool {
	if from == nil || seen[from.Slug] {
		return false
	}
	seen[from.Slug] = true
	return from.Slug == slug || slices.ContainsFunc(from.after, func(before string) bool {
		return l.leadsTo(l.pages[before], slug, seen)
	})
}
