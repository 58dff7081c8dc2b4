package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/relay-samples/relay-go/relay"
)

// log prints a line for each thing that happens: when, who, what.
type log struct {
	who string

	mu sync.Mutex // guards w
	w  io.Writer
}

func (l *log) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "%s  %s  %s\n", time.Now().Format("15:04:05.000"), l.who, fmt.Sprintf(format, args...))
}

func (l *log) observe(e relay.Event) {
	switch e.Kind {
	case relay.EventElected:
		l.printf("LEADS with token %d", e.Token)
	case relay.EventLost:
		l.printf("no longer leads: %v", e.Err)
	case relay.EventReleased:
		l.printf("gave up token %d", e.Token)
	case relay.EventFailed:
		l.printf("failed: %v", e.Err)
	}
}
