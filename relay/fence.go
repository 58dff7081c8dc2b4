package relay

import (
	"fmt"
	"sync"
)

// Fence is the high-water mark of a protected resource: it admits the writes of
// the latest leader it has heard of and refuses those of every leader before.
//
//	leader with 33   |--- paused ------------------| write 33: refused
//	leader with 34            |--- write 34: admitted ---
//	                                                    time -->
//
// It must stand where the data is: the check and the write are one step there,
// with no moment between them. For data in this process that means under one
// mutex with the data; in PostgreSQL, in the transaction that writes (see
// postgres.AdmitTx). Asking whether the term is still valid and then writing
// does not help, since the pause can fall between the two.
//
// A fence does not refuse an expired leader's write before the next leader's
// first one: until then it has heard of no higher token.
//
// The zero value is ready, and safe for concurrent use.
type Fence struct {
	mu      sync.Mutex // guards highest
	highest Token
}

// Admit returns nil, and remembers token, unless it has seen a higher one: then
// it is a *StaleTokenError, which matches ErrStaleToken. An equal token passes,
// since a leader writes more than once. A token below 1, which no store grants,
// is ErrInvalidToken. On error the mark stays where it was.
func (f *Fence) Admit(token Token) error {
	if token < 1 {
		return fmt.Errorf("%w: %d", ErrInvalidToken, token)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if token < f.highest {
		return &StaleTokenError{Token: token, Highest: f.highest}
	}
	f.highest = token
	return nil
}
