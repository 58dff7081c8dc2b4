// The fencing demo tells the story of the paused client twice: once over
// storage that accepts every write, and once over storage with a fence.
//
//	go run ./samples/fencing-demo          # the whole story
//	go run ./samples/fencing-demo -step    # one line for each Enter
//
// The story is Martin Kleppmann's, from "How to do distributed locking"
// (https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html).
// The lock service, the tokens and the fence are Relay's own. Only the clock is
// made up, so that a pause of 40 seconds takes no time.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Stdin, os.Stdout, os.Stderr, os.Args[1:]))
}

// run returns the exit code: 1 when the story breaks off, 2 for bad arguments.
func run(stdin io.Reader, stdout, stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("fencing-demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	step := flags.Bool("step", false, "wait for Enter before each line but the first")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "fencing-demo: unexpected argument %q\n", flags.Arg(0))
		flags.Usage()
		return 2
	}

	say := func(line string) error {
		_, err := fmt.Fprintln(stdout, line)
		return err
	}
	if *step {
		say = pausing(say, stdin)
	}
	if err := tellBoth(context.Background(), say); err != nil {
		fmt.Fprintln(stderr, "fencing-demo:", err)
		return 1
	}
	return 0
}

// pausing waits for a line of input before each line but the first. When the
// input ends the rest of the story comes without pauses.
func pausing(say func(string) error, input io.Reader) func(string) error {
	enter := bufio.NewScanner(input)
	first := true
	return func(line string) error {
		if !first {
			enter.Scan()
		}
		first = false
		return say(line)
	}
}
