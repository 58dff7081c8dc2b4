package source

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxContext bounds context=: who wants more embeds something larger.
const maxContext = 50

// Modifiers are what the title of an embedding link asks for beside "embed".
// The zero value cuts what the selector names, and no more.
type Modifiers struct {
	Body      bool     // only the statements between the braces
	Doc       bool     // the doc comment too
	Context   int      // so many lines before and after
	Highlight []string // mark the lines on which one of these words occurs
}

// ParseModifiers reads the title of a link, such as "embed body hl=Acquire".
func ParseModifiers(title string) (Modifiers, error) {
	words := strings.Fields(title)
	if len(words) == 0 || words[0] != "embed" {
		return Modifiers{}, fmt.Errorf(`the title %q does not begin with the word embed`, title)
	}
	var m Modifiers
	for i, word := range words[1:] {
		if slices.Contains(words[:i+1], word) {
			return Modifiers{}, fmt.Errorf("the title says %s twice", word)
		}
		if err := m.add(word); err != nil {
			return Modifiers{}, err
		}
	}
	if m.Body && m.Doc {
		return Modifiers{}, errors.New("the title says body and doc: body leaves the doc comment out, choose one of them")
	}
	return m, nil
}

func (m *Modifiers) add(word string) error {
	key, value, hasValue := strings.Cut(word, "=")
	switch {
	case word == "body":
		m.Body = true
	case word == "doc":
		m.Doc = true
	case key == "hl" && value != "":
		m.Highlight = append(m.Highlight, value)
	case key == "context" && hasValue:
		if m.Context != 0 {
			return errors.New("the title says context twice")
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxContext {
			return fmt.Errorf("context=%s: write a number of lines from 1 to %d", value, maxContext)
		}
		m.Context = n
	default:
		return fmt.Errorf("the title says %q: after embed there can be body, doc, hl=name and context=2", word)
	}
	return nil
}
