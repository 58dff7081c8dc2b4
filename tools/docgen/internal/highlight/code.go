package highlight

import (
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Code renders code of any language as HTML, lines in marked, from 1, marked.
// What has no lexer, "text" for one, is escaped and otherwise left as it is.
func Code(lang, code string, marked ...int) []byte {
	lang = strings.ToLower(lang)
	if lang == "go" || lang == "golang" {
		return Go([]byte(code), marked)
	}
	w := newWriter([]byte(code), marked)
	if lexer := lexer(lang); lexer != nil {
		at := 0
		for _, token := range tokens(lexer, code) {
			w.span(at, at+len(token.Value), class(token.Type))
			at += len(token.Value)
		}
	}
	return w.finish()
}

// tokens splits code. Where a lexer does not return what it was given, nothing
// is coloured: what the page shows must be the code.
func tokens(lexer chroma.Lexer, code string) []chroma.Token {
	found, err := chroma.Tokenise(lexer, nil, code)
	if err != nil {
		return nil
	}
	rest, ok := code, true
	for _, token := range found {
		if rest, ok = strings.CutPrefix(rest, token.Value); !ok {
			return nil
		}
	}
	return found
}

// dialects are names of fences that have a better lexer than the one with that
// name.
var dialects = map[string]string{
	"sql":   "postgresql",
	"jsonl": "json",
}

// known holds the lexers that were asked for, by language; nil for what has
// none.
var known sync.Map

func lexer(lang string) chroma.Lexer {
	if found, ok := known.Load(lang); ok {
		lexer, _ := found.(chroma.Lexer)
		return lexer
	}
	name := lang
	if better, ok := dialects[lang]; ok {
		name = better
	}
	// lexers.Get alone would also try the patterns for names of files, and take
	// go.mod for a language.
	if !slices.Contains(lexers.Names(true), name) {
		known.Store(lang, nil)
		return nil
	}
	lexer := chroma.Coalesce(lexers.Get(name))
	known.Store(lang, lexer)
	return lexer
}

// class maps chroma's types of tokens to our few classes.
func class(typ chroma.TokenType) string {
	switch {
	case typ == chroma.GenericInserted:
		return added
	case typ == chroma.GenericDeleted:
		return removed
	case typ == chroma.KeywordType, typ == chroma.NameBuiltin, typ == chroma.KeywordConstant:
		return builtin
	case typ.InCategory(chroma.Comment) && !typ.InSubCategory(chroma.CommentPreproc):
		return comment
	case typ.InCategory(chroma.Keyword), typ == chroma.NameTag, typ == chroma.OperatorWord,
		typ == chroma.GenericHeading, typ == chroma.GenericSubheading:
		return keyword
	case typ.InSubCategory(chroma.LiteralString):
		return text
	case typ.InSubCategory(chroma.LiteralNumber):
		return number
	case typ == chroma.NameFunction, typ == chroma.NameAttribute:
		return function
	}
	return ""
}
