package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_WrongUsageExitsWith2AndSaysWhat(t *testing.T) {
	root := newRepository(t)
	for says, args := range map[string][]string{
		"no verb":         {"publish"},
		"docgen build":    {},
		"-base-url":       {"build", "-root", root, "-rev", "abc"},
		"-rev":            {"build", "-root", root, "-base-url", "https://example.org/"},
		"not defined":     {"check", "-fast"},
		"takes 0":         {"check", "-root", root, "now"},
		"takes 1":         {"new", "-root", root},
		"example.org/re":  {"build", "-root", root, "-base-url", "example.org", "-rev", "abc"},
		"-root /none is":  {"check", "-root", "/none"},
		"go.mod is no":    {"check", "-root", filepath.Join(root, "go.mod")},
		"build: -o is":    {"build", "-root", root, "-base-url", "https://example.org/", "-rev", "abc", "-o", ""},
		"record: -o is":   {"record", "-root", root, "-o", ""},
		"\"nonsense\" is": {"serve", "-root", root, "-addr", "nonsense"},
		":99999":          {"serve", "-root", root, "-addr", "127.0.0.1:99999"},
	} {
		var out, err bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, &out, &err), "%v", args)
		require.Contains(t, err.String(), says)
	}
}

func TestRun_HelpIsNoWrongUsage(t *testing.T) {
	for _, help := range []string{"help", "-h", "-help", "--help"} {
		var out, err bytes.Buffer
		require.Zero(t, run(t.Context(), []string{help}, &out, &err))
		require.Empty(t, err.String())
		require.Regexp(t, `^docgen build .*\n`, out.String())
		require.Contains(t, out.String(), "\ndocgen gen\n")
	}
	var out, err bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"check", "-root", newRepository(t), "-h"}, &out, &err))
}

func TestBuild_AddressesAndRevisionsThatAreNoneAreRefused(t *testing.T) {
	root := newRepository(t)
	try := func(base, rev string) (int, string) {
		out := filepath.Join(t.TempDir(), "site")
		code, _, stderr := docgen(t, root, "build", "-o", out, "-base-url", base, "-rev", rev)
		return code, stderr
	}
	for _, base := range []string{
		"https://e.org//", "https://e.org/a//b", "https://e.org/a/../b", "https://me@e.org/", "https://me:pw@e.org/", "https://e.org:0/",
		"https://e.org:65536/", "https://e.org:/", "https://:80/", "https://e.org/?", "https://e.org/?a", "https://e.org/#a", "ftp://e.org/", "e.org",
	} {
		code, said := try(base, "main")
		require.Equal(t, 2, code, base)
		require.Contains(t, said, "-base-url")
	}
	for _, rev := range []string{"a b", "main#x", "-x", "../main", "a..b", "%41", "ma\"in", "main\n", "é"} {
		code, said := try("https://e.org/", rev)
		require.Equal(t, 2, code, rev)
		require.Contains(t, said, "-rev")
	}
	for base, rev := range map[string]string{
		"https://e.org": "main", "https://e.org:8080/x/y": "release/v1.2_3", "http://[::1]:80/": "16557e9f1b",
	} {
		code, said := try(base, rev)
		require.Zero(t, code, said)
	}
}
