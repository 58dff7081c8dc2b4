package highlight

import (
	"go/doc"
	"go/scanner"
	"go/token"
)

// Go renders Go source as HTML. The code may be cut out of a file anywhere: it
// need not parse, and from where it cannot even be split into tokens the rest is
// plain text. Lines in marked, from 1, are marked.
func Go(code []byte, marked []int) []byte {
	w := newWriter(code, marked)
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(code))
	failed := len(code)
	s.Init(file, code, func(pos token.Position, _ string) { failed = min(failed, pos.Offset) }, scanner.ScanComments)

	var previous, pending goToken // pending: an identifier, whose class the next token decides
	for {
		next := scan(&s, file)
		if next.tok == token.EOF || failed < len(code) {
			break
		}
		if pending.tok == token.IDENT {
			w.span(pending.start, pending.end, pending.identifier(previous, next))
		}
		if pending.tok != token.ILLEGAL {
			previous = pending
		}
		pending = next
		if class := next.class(); class != "" {
			w.span(next.start, next.end, class)
		}
	}
	if pending.tok == token.IDENT {
		w.span(pending.start, pending.end, pending.identifier(previous, goToken{tok: token.EOF}))
	}
	return w.finish()
}

// goToken is a token and where it is.
type goToken struct {
	tok        token.Token
	lit        string
	start, end int
}

func scan(s *scanner.Scanner, file *token.File) goToken {
	pos, tok, lit := s.Scan()
	start := file.Offset(pos)
	return goToken{tok: tok, lit: lit, start: start, end: start + len(lit)}
}

// class is that of a token which does not depend on its neighbours.
func (t goToken) class() string {
	switch {
	case t.tok.IsKeyword():
		return keyword
	case t.tok == token.STRING, t.tok == token.CHAR:
		return text
	case t.tok == token.INT, t.tok == token.FLOAT, t.tok == token.IMAG:
		return number
	case t.tok == token.COMMENT:
		return comment
	}
	return ""
}

// identifier is the class of a name between two tokens. It goes by the text
// alone: a conversion to a declared type looks like a call.
func (t goToken) identifier(previous, next goToken) string {
	switch {
	case previous.tok != token.PERIOD && doc.IsPredeclared(t.lit):
		return builtin
	case next.tok == token.LPAREN, previous.tok == token.FUNC:
		return function
	}
	return ""
}
