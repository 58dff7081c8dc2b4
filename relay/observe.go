package relay

import (
	"context"
	"log/slog"
	"time"
)

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	EventElected  EventKind = "elected"  // a term began
	EventDenied   EventKind = "denied"   // somebody else holds it
	EventRenewed  EventKind = "renewed"  // a lease was extended
	EventLost     EventKind = "lost"     // a lock or a term ended before it was given up
	EventReleased EventKind = "released" // a lock or a lease was given up
	EventFailed   EventKind = "failed"   // a call failed, or the work of a term returned an error that Run does not
)

// Event is something that happened to a lock, a role or a node.
type Event struct {
	Kind  EventKind
	Name  string        // the lock's name, the role, or the node
	Owner string        // who held it or wanted it; empty where there is none
	Token Token         // the fencing token; 0 where there is none
	Took  time.Duration // how long the call took, by the monotonic clock
	Err   error         // why, for denied, lost and failed
}

// Observer is told of events, from whichever goroutine they happen on and while
// that goroutine waits: it must be safe for concurrent use, and quick. A nil
// Observer is told nothing.
type Observer func(Event)

// Emit passes e to the observer, if there is one. For whoever writes an adapter.
func (o Observer) Emit(e Event) {
	if o != nil {
		o(e)
	}
}

// LogObserver writes events to logger: losses and failures as warnings,
// denials and renewals for debugging, the rest as information. A nil logger is
// slog.Default().
func LogObserver(logger *slog.Logger) Observer {
	if logger == nil {
		logger = slog.Default()
	}
	return func(e Event) {
		level := slog.LevelInfo
		switch e.Kind {
		case EventLost, EventFailed:
			level = slog.LevelWarn
		case EventDenied, EventRenewed:
			level = slog.LevelDebug
		}
		attrs := []slog.Attr{slog.String("name", e.Name)}
		if e.Owner != "" {
			attrs = append(attrs, slog.String("owner", e.Owner))
		}
		if e.Token != 0 {
			attrs = append(attrs, slog.Int64("token", int64(e.Token)))
		}
		if e.Took != 0 {
			attrs = append(attrs, slog.Duration("took", e.Took))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.Any("error", e.Err))
		}
		logger.LogAttrs(context.Background(), level, "relay: "+string(e.Kind), attrs...)
	}
}
