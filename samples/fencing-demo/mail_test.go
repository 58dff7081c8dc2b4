package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/relay"
)

// mailProvider is somebody else's service. It checks no token. What it offers
// is a key: of several requests with one key it carries out the first.
type mailProvider struct {
	keys map[string]bool
	sent []string
}

func (p *mailProvider) send(key, mail string) {
	if key != "" && p.keys[key] {
		return
	}
	if p.keys == nil {
		p.keys = map[string]bool{}
	}
	p.keys[key] = true
	p.sent = append(p.sent, mail)
}

// sentAfterPause has A pause just before it sends, and B send in the meantime.
func sentAfterPause(t *testing.T, keyOf func(lease relay.Lease) string) []string {
	t.Helper()
	at, leases := newLeases()
	provider := &mailProvider{}
	a := acquire(t, leases, "A")
	at(pause)
	b := acquire(t, leases, "B")
	provider.send(keyOf(b), "invoice 2026-03 for Ada")
	provider.send(keyOf(a), "invoice 2026-03 for Ada")
	return provider.sent
}

func TestMail_WithoutAKeyThePausedClientSendsItAgain(t *testing.T) {
	sent := sentAfterPause(t, func(relay.Lease) string { return "" })
	require.Len(t, sent, 2, "a lock in front of the provider, and Ada has two invoices")
}

func TestMail_KeyThatNamesTheWorkSendsItOnce(t *testing.T) {
	sent := sentAfterPause(t, func(relay.Lease) string { return "invoice/2026-03/ada" })
	require.Len(t, sent, 1, "whoever sends it, and however often")
}

// The twin: a key that differs with the sender names the attempt.
func TestMail_KeyThatNamesTheAttemptIsNoKey(t *testing.T) {
	sent := sentAfterPause(t, func(lease relay.Lease) string { return fmt.Sprintf("invoice/2026-03/ada/%d", lease.Token) })
	require.Len(t, sent, 2, "tokens tell senders apart, and here all senders are to count as one")
}
