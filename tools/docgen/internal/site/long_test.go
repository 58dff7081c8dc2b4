package site_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

// vocabulary gives words about as often as prose does. Half are common to all
// articles; the others are of the article's subject.
type vocabulary struct {
	random  *rand.Rand
	common  *rand.Zipf
	subject *rand.Zipf
	size    uint64 // of all subjects together
}

func newVocabulary(size uint64) vocabulary {
	r := rand.New(rand.NewPCG(7, 1))
	return vocabulary{r, rand.NewZipf(r, 1.15, 8, 1500), rand.NewZipf(r, 1.1, 10, 400), size}
}

var syllables = strings.Fields("ba ce di fo gu la me ni po ru sa te vi wo zu kra ste pli tro")

func spell(n uint64) string {
	var b strings.Builder
	for n += 5; n > 0; n /= uint64(len(syllables)) {
		b.WriteString(syllables[n%uint64(len(syllables))])
	}
	return b.String()
}

// text is about the nth subject.
func (v vocabulary) text(subject, words int) string {
	list := make([]string, words)
	for i := range list {
		if v.random.IntN(2) == 0 {
			list[i] = spell(v.common.Uint64())
			continue
		}
		// Some multiplication, so that subjects overlap, and not in one stretch.
		list[i] = spell(1500 + (uint64(subject)*7919+v.subject.Uint64()*104729)%v.size)
	}
	return strings.Join(list, " ")
}

// shape is how long the articles of a book are.
type shape struct{ articles, sections, words int }

// ourShape is about that of the articles that we have.
func ourShape(articles int) shape { return shape{articles, 38, 3800} }

// longBook has a test of 40 lines in every second section.
func longBook(t testing.TB, s shape, v vocabulary) *book.Book {
	t.Helper()
	bk := &book.Book{}
	long := strings.Repeat(strings.Join(strings.SplitAfter(fencedCode, "\n")[1:9], ""), 5)
	for i := range s.articles {
		var b strings.Builder
		in := nodes{}
		for n := range s.sections {
			half := s.words / s.sections / 2
			fmt.Fprintf(&b, "## %s %d\n\n%s.\n\n%s.\n\n", spell(v.common.Uint64()), n, v.text(i, half), v.text(i, half))
			if n%2 == 0 {
				name := fmt.Sprintf("TestSection%d_%s", n, v.text(i, 1))
				in[name] = embedOf(name, "func "+name+"(t *testing.T) {\n"+long+"}\n", &results.Result{Status: results.Passed, Output: fencedOutput})
				fmt.Fprintf(&b, "{%s}\n\n", name)
			}
		}
		bk.Articles = append(bk.Articles, newArticle(t, fmt.Sprintf("%03d-%s", i, spell(uint64(i))), v.text(i, 5), b.String(), in))
	}
	return bk
}
