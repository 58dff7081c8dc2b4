package site

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// place says how well a term fits a section: level 0 to 3.
type place struct{ section, level int }

// places are the terms of all sections, in each the most telling first.
type places struct {
	terms    []string // sorted
	sections [][]weighted
}

// weighted is a term of a section.
type weighted struct {
	term  int // where it is in places.terms
	level int
	tells float64 // how well it fits, times how rare it is
}

// newPlaces weighs each term in each section by BM25.
func newPlaces(sections []section) *places {
	frequency := map[string]int{} // in how many sections
	var total float64
	for _, s := range sections {
		total += s.length()
		for term := range s.terms {
			frequency[term]++
		}
	}
	mean := total / max(1, float64(len(sections)))
	p := &places{terms: slices.Sorted(maps.Keys(frequency))}
	number := make(map[string]int, len(p.terms))
	rare := make([]float64, len(p.terms))
	for i, term := range p.terms {
		number[term] = i
		rare[i] = math.Log(1 + float64(len(sections))/float64(frequency[term]))
	}
	for _, s := range sections {
		p.sections = append(p.sections, weigh(s, s.length()/mean, number, rare))
	}
	return p
}

// weigh sorts the terms of a section by what they tell. Its length counts in
// units of the mean one.
func weigh(s section, length float64, number map[string]int, rare []float64) []weighted {
	const k, b = 1.2, 0.5 // BM25's: how soon more of a term stops to count, and how much the length does
	norm := k * (1 - b + b*length)
	list := make([]weighted, 0, len(s.terms))
	for term, weight := range s.terms {
		i := number[term]
		fit := weight / (weight + norm) // below 1
		list = append(list, weighted{i, min(3, int(4*fit)), fit * rare[i]})
	}
	slices.SortFunc(list, func(x, y weighted) int {
		return cmp.Or(cmp.Compare(y.tells, x.tells), cmp.Compare(x.term, y.term))
	})
	return list
}

func (s section) length() float64 {
	var sum float64
	for _, weight := range s.terms {
		sum += weight
	}
	return sum
}

// count is the number of places if each section keeps so many terms.
func (p *places) count(most int) int {
	n := 0
	for _, list := range p.sections {
		n += min(len(list), most)
	}
	return n
}

// lists are the places of each term, in the order of the terms, if each section
// keeps so many.
func (p *places) lists(most int) [][]place {
	lists := make([][]place, len(p.terms))
	for i, list := range p.sections {
		for _, w := range list[:min(len(list), most)] {
			lists[w.term] = append(lists[w.term], place{i, w.level})
		}
	}
	return lists
}
