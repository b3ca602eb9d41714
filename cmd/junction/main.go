// Command junction works with servers of the Model Context Protocol. It lists and calls their
// features, lets a language model use them, serves many servers at one endpoint, and translates
// between revisions of the protocol. Run junction --help for the commands.
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
// The codes 1, 2 and 4 of junction chat differ: see its --help.
//
// With --json an error is also an object {"error": {"code", "message", "data"}} on standard output.
// It has code and data if the server sent them.
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

// sameSignal is the time within which repeated signals count as one. Programs such as timeout(1)
// send their signal both to the process and to its group.
const sameSignal = 250 * time.Millisecond

// killTime is how long the second interrupt waits for killed programs to end.
const killTime = 2 * time.Second

func main() {
	sandbox.Main()
	slog.SetLogLoggerLevel(slog.LevelError) // libraries that use this logger print only errors
	ctx, interrupt := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // it is ignored under nohup; otherwise the terminal was closed, and the command must restore its changes
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
		began := time.Now() // before any program reports that it stops
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
