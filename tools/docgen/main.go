// Command docgen turns the articles into a static site, with the source of the
// tests embedded, and checks that they say what the repository holds.
//
//	docgen build  -o site -base-url URL -rev SHA [-tests results.jsonl]
//	docgen check  [-tests results.jsonl]     writes nothing
//	docgen gen                               the README's index and each sample's README
//	docgen serve  [-addr 127.0.0.1:8080]     rebuilds on change, reloads the page
//	docgen record -o results.jsonl           runs the samples' tests, keeps what they say
//	docgen new    107-slug                   begins an article and its sample
//
// It exits with 0 when all is well, 1 with findings or when it is interrupted, 2
// when it is called wrongly.
// A finding is one line, file:line:col: what is wrong and the mend. There are no
// warnings.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const (
	fine     = 0
	findings = 1
	misused  = 2
)

// verb is what docgen can do.
type verb struct {
	name, usage string
	run         func(ctx context.Context, c *call) error
}

var verbs = []verb{
	{"build", "-o site -base-url URL -rev SHA [-tests results.jsonl]", build},
	{"check", "[-tests results.jsonl]", check},
	{"gen", "", gen},
	{"serve", "[-addr 127.0.0.1:8080] [-tests results.jsonl]", serve},
	{"record", "-o results.jsonl", record},
	{"new", "107-slug", begin},
}

// call is one use of docgen.
type call struct {
	root           string
	flags          *flag.FlagSet
	args           []string
	stdout, stderr io.Writer
}

var (
	// errFindings: they have been printed.
	errFindings = errors.New("there are findings")
	// errUsage: it has been said what is wrong.
	errUsage = errors.New("wrong usage")
)

// run returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return misused
	}
	for _, v := range verbs {
		if v.name == args[0] {
			return v.call(ctx, args[1:], stdout, stderr)
		}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(stdout)
		return fine
	}
	fmt.Fprintf(stderr, "docgen: there is no verb %q\n", args[0])
	usage(stderr)
	return misused
}

func usage(w io.Writer) {
	for _, v := range verbs {
		fmt.Fprintln(w, v)
	}
}

func (v verb) String() string { return strings.TrimSpace("docgen " + v.name + " " + v.usage) }

func (v verb) call(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("docgen "+v.name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, v)
		flags.PrintDefaults()
	}
	c := &call{flags: flags, args: args, stdout: stdout, stderr: stderr}
	flags.StringVar(&c.root, "root", "", "the repository's `folder` (default: the one around the current folder)")
	switch err := v.run(ctx, c); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return fine
	case errors.Is(err, errUsage):
		return misused
	case errors.Is(err, errFindings):
		return findings
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "docgen %s: interrupted\n", v.name)
		return findings
	default:
		fmt.Fprintf(stderr, "docgen %s: %v\n", v.name, err)
		return findings
	}
}

// parse reads the flags, and wants so many arguments after them.
func (c *call) parse(arguments int) error {
	switch err := c.flags.Parse(c.args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errUsage
	}
	if c.flags.NArg() != arguments {
		return c.misuse("it takes %d arguments, not %d", arguments, c.flags.NArg())
	}
	if c.root == "" {
		root, err := findRoot()
		if err != nil {
			return c.misuse("%v", err)
		}
		c.root = root
	}
	if info, err := os.Stat(c.root); err != nil || !info.IsDir() {
		return c.misuse("-root %s is no folder", c.root)
	}
	return nil
}

func (c *call) misuse(format string, args ...any) error {
	fmt.Fprintf(c.stderr, "%s: %s\n", c.flags.Name(), fmt.Sprintf(format, args...))
	c.flags.Usage()
	return errUsage
}
