package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func golden(t *testing.T) string {
	t.Helper()
	want, err := os.ReadFile("testdata/output.golden")
	require.NoError(t, err)
	return strings.ReplaceAll(string(want), "\r\n", "\n")
}

func TestDemo_TellsTheStoryWordForWord(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(iotest.ErrReader(errors.New("read")), &stdout, &stderr, nil)

	require.Zero(t, code)
	require.Equal(t, golden(t), stdout.String(), "without -step it prints the story and reads nothing")
	require.Empty(t, stderr.String())
}

func TestDemo_StepWaitsForEnterBeforeEachNextLine(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSuffix(golden(t), "\n"), "\n")
	lines[len(lines)-1] += "\n"

	var told strings.Builder
	presenter := presenter{told: &told, want: lines, t: t}
	require.Zero(t, run(&presenter, &told, io.Discard, []string{"-step"}))
	require.Equal(t, golden(t), told.String(), "the pauses change no word of it")
	require.Equal(t, len(lines)-1, presenter.pressed, "one Enter for each line but the first")
}

// presenter presses Enter whenever the demo waits, and checks first that it has
// told one line for each Enter so far and one more.
type presenter struct {
	t       *testing.T
	told    *strings.Builder
	want    []string
	pressed int
}

func (p *presenter) Read(buf []byte) (int, error) {
	require.Equal(p.t, strings.Join(p.want[:p.pressed+1], ""), p.told.String(), "what has been told after %d times Enter", p.pressed)
	p.pressed++
	return copy(buf, "\n"), nil
}

func TestDemo_StepEndsWhenTheInputDoes(t *testing.T) {
	for name, input := range map[string]io.Reader{
		"no input":     strings.NewReader(""),
		"three Enters": strings.NewReader("\n\n\n"),
		"no newline":   strings.NewReader("quit"),
		"broken input": iotest.ErrReader(errors.New("broken")),
	} {
		t.Run(name, func(t *testing.T) {
			var stdout bytes.Buffer
			require.Zero(t, run(input, &stdout, io.Discard, []string{"-step"}))
			require.Equal(t, golden(t), stdout.String(), "the rest comes without pauses")
		})
	}
}

func TestDemo_Arguments(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"help":               {[]string{"-h"}, 0, "-step"},
		"unknown flag":       {[]string{"-fast"}, 2, "-fast"},
		"unknown argument":   {[]string{"again"}, 2, `unexpected argument "again"`},
		"argument after it":  {[]string{"-step", "again"}, 2, `unexpected argument "again"`},
		"flag without value": {[]string{"-step=maybe"}, 2, "maybe"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, c.code, run(strings.NewReader(""), &stdout, &stderr, c.args))
			require.Contains(t, stderr.String(), c.says)
			require.Empty(t, stdout.String(), "no story is told")
		})
	}
}

func TestDemo_OutputThatFailsIsAnError(t *testing.T) {
	reader, writer := io.Pipe()
	require.NoError(t, reader.CloseWithError(errors.New("nobody listens")))

	var stderr bytes.Buffer
	require.Equal(t, 1, run(strings.NewReader(""), writer, &stderr, nil))
	require.Contains(t, stderr.String(), "nobody listens")
}
