package site

import (
	"slices"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
)

// readingOrder puts articles after those that they build on, otherwise by slug,
// and keeps the articles of a category together. It is the order of the index,
// and of the links to the next and the previous article.
func readingOrder(articles []*book.Article) []*book.Article {
	sorted := make([]*book.Article, 0, len(articles))
	seen := make(map[*book.Article]bool, len(articles))
	var visit func(a *book.Article)
	visit = func(a *book.Article) {
		if seen[a] { // placed, or in a cycle, which the book has reported
			return
		}
		seen[a] = true
		for _, before := range a.After {
			if slices.Contains(articles, before) {
				visit(before)
			}
		}
		sorted = append(sorted, a)
	}
	for _, a := range articles {
		visit(a)
	}
	ordered := make([]*book.Article, 0, len(sorted))
	for _, c := range byCategory(sorted) {
		ordered = append(ordered, c.Articles...)
	}
	return ordered
}

// category is a heading of the index.
type category struct {
	Name     string
	Articles []*book.Article
}

// ID is the fragment of the category on the index page.
func (c category) ID() string { return categoryID(c.Name) }

// byCategory groups articles, the categories in the order in which they occur.
func byCategory(articles []*book.Article) []category {
	var categories []category
	at := map[string]int{}
	for _, a := range articles {
		i, ok := at[a.Category]
		if !ok {
			i = len(categories)
			at[a.Category] = i
			categories = append(categories, category{Name: a.Category})
		}
		categories[i].Articles = append(categories[i].Articles, a)
	}
	return categories
}

// around is what an article's page says of other articles.
type around struct {
	Previous, Next *book.Article
	after          []*book.Article
}

func newAround(order []*book.Article, i int) around {
	w := around{after: slices.Clone(order[i].After)}
	if i > 0 {
		w.Previous = order[i-1]
	}
	if i+1 < len(order) {
		w.Next = order[i+1]
	}
	return w
}

// equal compares by identity: an article that has been read again is another.
func (w around) equal(other around) bool {
	return w.Previous == other.Previous && w.Next == other.Next && slices.Equal(w.after, other.after)
}
