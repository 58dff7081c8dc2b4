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
//
// Read story.go and storage.go, and then the tests in this order:
//
//	lease_test.go            the timeline, and what an expiry is good for
//	two_holders_test.go      a lock for efficiency, a lock for correctness
//	storage_test.go          the fence, and why asking first is no fence
//	mail_test.go             a resource that checks no token
//	no_lock_test.go          what needs no lock; PostgreSQL
//	postgres_fence_test.go   the fence in your own transaction or row; PostgreSQL
//	outbox_test.go           a mail that is a row first; PostgreSQL
//	lease_table_test.go      a lease that is written by hand; PostgreSQL
//
// demo_test.go holds the demo to its words. Tests that need PostgreSQL are
// skipped where there is none; they say how to get one.
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
