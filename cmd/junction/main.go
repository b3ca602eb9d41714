// Command junction works with servers of the Model Context Protocol: it lists
// and calls what they offer, lets a language model use them, serves many behind one
// endpoint, and bridges the revisions of the protocol. Run junction --help.
//
// # Exit codes
//
//	0    done
//	1    the tool failed (isError)
//	2    the command line is wrong, or arguments do not fit the tool
//	3    no connection: configuration, start or connection failed; or a local file failed
//	4    the server answered with a protocol error
//	5    the server did not answer in time
//	6    Junction refused it: rules, limits, secrets, review, scopes
//	130  interrupted (Ctrl-C)
//
// Those of junction chat differ in 1, 2 and 4: see its --help.
//
// With --json an error is also an object {"error": {"code", "message", "data"}} on
// standard output; code and data are there if the server gave them.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/sandbox"
)

// sameSignal is the time in which signals are taken for one: timeout(1) and
// others send theirs to the process and to its group.
const sameSignal = 250 * time.Millisecond

// killTime is how long the second interrupt waits for what it kills.
const killTime = 2 * time.Second

func main() {
	sandbox.Main()
	slog.SetLogLoggerLevel(slog.LevelError) // of libraries that log by themselves, only what fails is heard
	ctx, interrupt := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as it is by nohup; else the terminal was closed, and what is to be put back is
		signal.Notify(signals, syscall.SIGHUP)
	}
	kill := make(chan struct{})
	stops := new(cli.InterruptHandler)
	go func() {
		cause := cli.ErrInterrupted
		for first := range signals {
			if first == syscall.SIGTERM {
				cause = cli.ErrTerminated
			}
			if first != os.Interrupt || !stops.Handle() {
				break
			}
		}
		began := time.Now() // before anything says that it stops
		interrupt(cause)
		for range signals {
			if time.Since(began) > sameSignal {
				break
			}
		}
		fmt.Fprintln(os.Stderr, "\njunction: interrupted twice; killing the processes that still run")
		close(kill)
		time.Sleep(killTime)
		os.Exit(cli.ExitInterrupted)
	}()
	code := runKillable(ctx, place.Place{}, kill, stops, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	select {
	case <-kill:
		code = cli.ExitInterrupted
	default:
	}
	os.Exit(code)
}
