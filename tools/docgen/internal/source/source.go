// Package source reads the repository's files and cuts pieces out of them.
//
// A piece is named by a selector, never by line numbers, and must exist exactly
// once: an article that names what is gone, or what is there twice, is an error
// and not an empty or a wrong block. Go is read with go/parser, so that neither
// a name that begins like another nor a brace in a string can mislead it.
//
//	LockKey            a function, type, constant or variable
//	Locker.TryLock     a method, or a member of an interface or a struct
//	TestX/sub test     a t.Run with that literal name; go test's spelling, sub_test, will do too
//	region:name        what stands between //docgen:begin name and //docgen:end name
//	                   (nothing: the whole file)
//
// Of files in other languages only regions and the whole file can be had; there
// the markers are comments of that language.
package source

// Snippet is a piece of a file, as the page shows it.
type Snippet struct {
	Path      string // from the repository's root, with slashes
	Name      string // the selector, decoded: TestX, TestX/sub test, Type.Method, region:name; nothing for a whole file
	Test      string // as go test names it, to be quoted for -run: TestX or TestX/sub_test; nothing unless go test runs it
	StartLine int    // of the cut in the file, from 1
	EndLine   int
	From, To  int    // the lines of what is named: without what doc and context bring along
	Code      []byte // the file's bytes, outdented, without region markers; ends with a newline
	Lang      string // go, sql, sh: from the file's name
	Marked    []int  // lines of Code, from 1, that the title's hl= names
}
