package relay_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

func TestLogObserver_WritesWhatHappenedAtALevelThatFits(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	observe := relay.LogObserver(logger)
	observe(relay.Event{Kind: relay.EventElected, Name: "reports", Owner: "node-a/X", Token: 33})
	observe(relay.Event{Kind: relay.EventRenewed, Name: "reports", Took: 3 * time.Millisecond})
	observe(relay.Event{Kind: relay.EventDenied, Name: "reports", Err: relay.ErrNotAcquired})
	observe(relay.Event{Kind: relay.EventLost, Name: "reports", Err: errors.New("why")})
	observe(relay.Event{Kind: relay.EventFailed, Name: "reports"})
	observe(relay.Event{Kind: relay.EventReleased, Name: "reports"})
	require.Equal(t, `level=INFO msg="relay: elected" name=reports owner=node-a/X token=33
level=DEBUG msg="relay: renewed" name=reports took=3ms
level=DEBUG msg="relay: denied" name=reports error="relay: not acquired"
level=WARN msg="relay: lost" name=reports error=why
level=WARN msg="relay: failed" name=reports
level=INFO msg="relay: released" name=reports
`, out.String())
}

func TestObserver_NilIsToldNothing(t *testing.T) {
	require.NotPanics(t, func() { relay.Observer(nil).Emit(relay.Event{Kind: relay.EventLost}) })
	require.NotPanics(t, func() { relay.LogObserver(nil)(relay.Event{Kind: relay.EventRenewed}) })
}
