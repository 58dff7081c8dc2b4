package browser

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// recorder keeps what a page does that it should not. The browser's events reach
// it before the reply to any command that comes after them.
type recorder struct {
	mu       sync.Mutex // guards what follows
	origin   string     // where requests may go
	missing  string     // the address that is asked for although it is not there
	problems []string
}

// begin forgets what was, and allows requests to addresses that begin with
// origin.
func (r *recorder) begin(origin, missing string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.origin, r.missing, r.problems = origin, missing, nil
}

// end returns what has happened since begin.
func (r *recorder) end() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Compact(r.problems)
}

func (r *recorder) add(event any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, r.origin) {
			r.report("it asks another place for %s", e.Request.URL)
		}
	case *network.EventLoadingFailed:
		r.report("a request failed: %s", e.ErrorText)
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text = e.ExceptionDetails.Exception.Description
		}
		r.report("an exception: %s", text)
	case *runtime.EventConsoleAPICalled:
		r.report("a message in the console (%s)", e.Type)
	case *log.EventEntryAdded:
		if e.Entry.URL != r.missing || r.missing == "" {
			r.report("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	}
}

func (r *recorder) report(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}
