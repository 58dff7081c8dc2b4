// Command pgtest-server runs a command with a PostgreSQL for its tests:
//
//	pgtest-server [-install PROGRAM] [-- COMMAND [ARGUMENT...]]
//
// It finds or starts a server as package pgtest does, passes it on in
// RELAY_TEST_DATABASE_URL, and stops it after the command. Tests of many
// packages then share one server instead of starting one each. Without a command
// it prints a line that sets DATABASE_URL in a shell, and waits for Ctrl-C. With
// -install, when there is no server, it runs PROGRAM, which installs one, and
// tries again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/relay-samples/relay-go/internal/pgtest"
)

// limit is the longest life of a container, should we not end it.
const limit = 24 * time.Hour

func main() {
	install := flag.String("install", "", "`program` that installs PostgreSQL when there is none")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: pgtest-server [-install PROGRAM] [-- COMMAND [ARGUMENT...]]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(*install, flag.Args()); err != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) && ended.Exited() {
			os.Exit(ended.ExitCode()) // the command has said why
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(install string, command []string) (err error) {
	// Ctrl-C reaches the command too. We stay until it has ended, and then
	// stop the server.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	srv, err := start(install)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	fmt.Fprintln(os.Stderr, "pgtest-server:", srv.Why)
	select {
	case s := <-signals: // while there was no command that it could end
		return fmt.Errorf("pgtest-server: %v", s)
	default:
	}

	if len(command) == 0 {
		fmt.Printf("export DATABASE_URL='%s'\n", strings.ReplaceAll(srv.URL, "'", `'\''`))
		<-signals
		return nil
	}
	return runCommand(command, srv.URL, signals)
}

func runCommand(command []string, url string, signals <-chan os.Signal) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(withoutForcedWay(os.Environ()), pgtest.EnvURL+"="+url)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM { // sent to us alone
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	return cmd.Wait()
}

func start(install string) (*pgtest.Server, error) {
	srv, err := pgtest.Start(context.Background(), pgtest.Config{Limit: limit})
	var none *pgtest.NoServerError
	if way := os.Getenv(pgtest.EnvWay); install == "" || !errors.As(err, &none) || way != "" && way != "installed" {
		return srv, err // nothing that could be installed would help
	}
	fmt.Fprintln(os.Stderr, err)
	cmd := exec.Command(install)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %v", install, err) // its exit code is not ours
	}
	return pgtest.Start(context.Background(), pgtest.Config{Limit: limit})
}

// withoutForcedWay lets the tests use the server we pass on.
func withoutForcedWay(env []string) []string {
	var kept []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, pgtest.EnvWay+"=") {
			kept = append(kept, kv)
		}
	}
	return kept
}
