package site

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// searchLimit is how large the index may be, as a server sends it.
const searchLimit = 150 << 10

// index is search.json. How well a term fits a section is known when the site is
// built (BM25, without the rarity of the term, which is the length of its list).
// It is kept as one of four levels, so that a place takes two characters or so.
type index struct {
	Articles [][2]string `json:"articles"` // file and title
	Sections [][]any     `json:"sections"` // article, fragment, heading, excerpt
	Terms    string      `json:"terms"`    // sorted, between spaces
	Places   string      `json:"places"`   // of each term: see encode
}

// searchIndex makes the index as full as the limit allows. Local is for docgen
// serve, which sends it over no network: it is full, and made in half the time.
func searchIndex(order []*book.Article, sections []section, topics []book.TopicGroup, local bool) ([]byte, error) {
	sections = withTopics(sections, topics)
	places := newPlaces(sections)
	for _, e := range economies {
		if places.count(e.terms) > searchLimit && !local {
			continue // zipped, a place takes about a byte: no need to try
		}
		text, err := json.Marshal(newIndex(order, sections, places, e))
		if err != nil {
			return nil, err
		}
		if local || zipped(text) <= searchLimit {
			return text, nil
		}
	}
	return nil, fmt.Errorf("the search index of %d sections is over %d KB even with %d words of each; index less (sectionsOf) or split the site",
		len(sections), searchLimit>>10, economies[len(economies)-1].terms)
}

// economy is what the index does without when the site is large. Excerpts go
// first: they help to choose, while a word that is missing can't be found.
type economy struct {
	excerpts bool
	terms    int // of a section: those that tell most about it
}

var economies = []economy{{true, math.MaxInt}, {false, math.MaxInt}, {false, 80}, {false, 60}, {false, 45}, {false, 30}}

// withTopics adds what topics.tsv says of the sections. The sections themselves
// may be those of the last build, and stay as they are.
func withTopics(sections []section, groups []book.TopicGroup) []section {
	type place struct {
		article *book.Article
		id      string
	}
	texts := map[place]string{}
	for _, g := range groups {
		if g.Article == nil {
			continue
		}
		for _, t := range g.Topics {
			texts[place{g.Article, t.Heading.ID}] += " " + t.Text + " " + t.Test
		}
	}
	sections = slices.Clone(sections)
	for i, s := range sections {
		if text := texts[place{s.article, s.heading.ID}]; text != "" {
			sections[i].terms = maps.Clone(s.terms)
			sections[i].add(text, inTopic)
		}
	}
	return sections
}

func newIndex(order []*book.Article, sections []section, p *places, e economy) index {
	var x index
	number := map[*book.Article]int{}
	for i, a := range order {
		number[a] = i
		x.Articles = append(x.Articles, [2]string{pageOf(a), a.Title})
	}
	for _, s := range sections {
		entry := []any{number[s.article], s.heading.ID, s.heading.Text}
		if e.excerpts {
			entry = append(entry, s.excerpt)
		}
		x.Sections = append(x.Sections, entry)
	}
	var terms, lists []string
	for i, list := range p.lists(e.terms) {
		if len(list) > 0 {
			terms = append(terms, p.terms[i])
			lists = append(lists, encode(list))
		}
	}
	x.Terms, x.Places = strings.Join(terms, " "), strings.Join(lists, " ")
	return x
}

// encode writes places as steps from one section to the next. A step is a number
// to the base of 26, whose last digit is a letter and whose others are written as
// a decimal number before it: c is 2, 1c is 28. The level stands before it as one
// of the signs of levels, and level 0 as nothing.
func encode(places []place) string {
	var b strings.Builder
	last := 0
	for _, p := range places {
		step := p.section - last
		last = p.section
		if p.level > 0 {
			b.WriteByte(levels[p.level-1])
		}
		if high := step / 26; high > 0 {
			b.WriteString(strconv.Itoa(high))
		}
		b.WriteByte(byte('a' + step%26))
	}
	return b.String()
}

const levels = "-+*"

// zipped is the size of a text as a server sends it.
func zipped(text []byte) int {
	var out bytes.Buffer
	w := gzip.NewWriter(&out) // writes to memory do not fail
	_, _ = w.Write(text)
	_ = w.Close()
	return out.Len()
}
