package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/lint"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/traffic"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An app is one run of the program.
type app struct {
	place.Place // that it runs in

	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer        // unclean
	log     *slog.Logger     // lines of JSON on standard error, in which all is that stands there; nil: text for people
	out     *terminal.Screen // standard output, cleaned
	screen  *terminal.Screen // standard error, cleaned
	person  *terminal.Person // nil if nobody is there
	flags   flags
	launch  launch.Launcher
	upFlags func(*app) *pflag.FlagSet // those of junction up, which fill in an app; nil where no gateway is looked for
	kill    <-chan struct{}           // closed when programs get no more time to end; may be nil
	stops   *stops                    // who takes Ctrl-C before it ends the command; may be nil
	// faulty says that a part of the configuration cannot be used.
	faulty bool
	// unread says which files of it cannot be read at all; nil if there are none.
	unread error
	// unheld is what projects' files say under "junction" and does not hold, as settings found it last.
	unheld []string
	memory memory
	// traffic shows the messages of this process to junction traffic; nil if it cannot.
	traffic  *traffic.Log
	desk     answer.Desk
	calls    *mcp.Client    // makes the requests of a command that asks one server
	breaches *lint.Breaches // what hears what servers do wrong; nil where nobody wants to know
	// awaited is what the person is being asked about servers of projects; nil: nothing.
	awaited atomic.Pointer[string]
	// ofProject are the servers of projects' files that the person was asked about, now or before.
	ofProject []entry

	resource telemetryResource // of up
	around   []mcp.Middleware  // of each request of a client
	sharing  sharing           // which servers that a junction up has this command uses

	secrets keptSecrets

	recordsFront bool // what clients say to a gateway is, and not what it says to its servers

	tails   stderrTails // of servers, by their names
	digests digests     // of their entries, likewise

	side sideConsole // of a command that does something else
}

// flags are those that more than one command has.
type flags struct {
	config   []string
	json     bool
	written  []any // what the command may write with it
	revision string
	logLevel string
	output   string
	record   string
	own      bool // servers are started, also those that a junction up has
	// logFormat and lowestLog are what standard error has of up and proxy.
	logFormat, lowestLog string
}

// runKillable runs one command line and returns the exit code. Once kill is closed, programs that were
// started are killed without grace when they are to end.
func runKillable(ctx context.Context, p place.Place, kill <-chan struct{}, stops *stops, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := ready(&app{Place: p, kill: kill, stops: stops, stdin: stdin, stdout: stdout, stderr: stderr, out: terminal.NewScreen(stdout), screen: terminal.NewScreen(stderr)})
	if terminal.Present(stdin, a.screen) {
		a.person = terminal.NewPerson(stdin, a.screen)
	}
	return runLine(ctx, a, args)
}

// ready returns an app that can connect to servers.
func ready(a *app) *app {
	a.launch.Place, a.launch.Locks.Place = a.Place, a.Place
	a.launch.Screen, a.launch.Kill, a.launch.Log = a.screen, a.kill, a.logger
	a.launch.Refused = func(server, line string, lost bool) { a.stderrOf(server).addRefused(line, lost) }
	return a
}

// runLine runs a command line.
func runLine(ctx context.Context, a *app, args []string) int {
	a.desk.Place, a.desk.Screen, a.desk.Person = a.Place, a.screen, a.person
	a.upFlags = func(child *app) *pflag.FlagSet { return upCommand(child).Flags() }
	root := root(a, args)
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	fitCompletion(root)
	suggestValues(a, root)
	uncover(a, root, args)
	stopped := tellStopping(ctx, a)
	ran, err := root.ExecuteContextC(ctx)
	err = closed(refusal(err), a.launch.Close())
	stopped()
	code := exitCode(ctx, err)
	if code == exitTimeout && ran.Flags().Lookup("timeout") != nil {
		err = longer(err)
	}
	fail(a, err, code, a.flags.json || wantsJSON(args))
	return code
}

// wantsJSON finds --json where the flags could not be read.
func wantsJSON(args []string) bool {
	if dash := slices.Index(args, "--"); dash >= 0 {
		args = args[:dash]
	}
	return slices.Contains(args, "--json")
}

// fail tells why the command failed.
func fail(a *app, err error, code int, asJSON bool) {
	switch {
	case err == nil || errors.Is(err, errToolFailed), errors.As(err, new(*endedError)):
		return
	case code == exitInterrupted:
		err = errInterrupted
	case errors.Is(err, errReported):
		return
	}
	if a.log != nil {
		a.log.Error(why.Once(why.Text(err)))
	} else {
		a.screen.Printf("junction: %s\n", why.Once(why.Text(err)))
	}
	if errors.Is(err, &mcp.Error{Code: mcp.CodeMissingCapability}) {
		a.screen.Printf("  (--sample answers for a language model, --root names folders to work in.)\n")
	}
	if asJSON {
		fmt.Fprintf(a.stdout, "%s\n", errorObject(err))
	}
}

// stopPause is how long nothing is said of an end that was asked for.
const stopPause = 300 * time.Millisecond

// tellStopping says, when an interrupt does not end the command at once, that it is
// heard: servers get time to end. stopped says that the command ended.
func tellStopping(ctx context.Context, a *app) (stopped func()) {
	over := make(chan struct{})
	unheard := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), errInterrupted) {
			return
		}
		select {
		case <-over:
		case <-time.After(stopPause):
			a.screen.Printf("junction: stopping; Ctrl-C again kills what is still running\n")
		}
	})
	return func() {
		unheard()
		close(over)
	}
}

// root returns the command that has all others, or those that these words can reach.
func root(a *app, words []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "junction",
		Short: "Any client, any server: the Model Context Protocol at the command line",
		Long: `Junction runs, calls, tests and protects servers of the Model Context Protocol, for
you, for a language model, and for hosts such as Claude and Cursor.

  junction list                                what your servers offer
  junction call everything add a=1 b=2         a tool of the server "everything"
  junction list tools -- npx -y SOME-SERVER    of a server that no file defines`,
		SilenceUsage:     true,
		SilenceErrors:    true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) { withholdVariables(a, cmd.Flags()) },
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked, _ := cmd.Flags().GetBool("version"); asked { // it is there
				_, err := fmt.Fprint(cmd.OutOrStdout(), versionText())
				return err
			}
			if a.out.Terminal() {
				return showStart(cmd.Context(), a)
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if wrong, is := errors.AsType[*pflag.InvalidValueError](err); is && flagValues[wrong.GetFlag().Value.Type()] != "" {
			err = fmt.Errorf("--%s: expected %s, got %q", wrong.GetFlag().Name, flagValues[wrong.GetFlag().Value.Type()], wrong.GetValue())
		}
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.Flags().Bool("version", false, "print the version") // -v is --verbose everywhere
	root.SetUsageFunc(func(cmd *cobra.Command) error { return writeUsage(a, cmd) })
	a.fitHelp(root)
	root.SetHelpCommand(helpCommand())
	grow(a, root, words)
	return root
}

const rootHelp = `
SERVER is the name of a server in a configuration file (junction, Claude, Cursor,
VS Code and others are found by default), a URL (http, https, unix:PATH, tcp:HOST:PORT,
or http+unix:PATH, where junction up --http unix:PATH serves), or is left out,
with the server's own command behind "--". With no configuration the servers that ship
with junction are there: everything, and filesystem (read-only, the current folder).

Shorter names go on working: tools, add, remove, connect and all others of earlier
versions. junction completion has scripts that complete words in shells.

` + exitHelp + "\n"

// writeUsage writes how a command is used, and what holds for all of them where it is the root.
func writeUsage(a *app, cmd *cobra.Command) error {
	err := plainUsage(cmd, min(helpWidth, a.out.Width()))
	if err == nil && !cmd.HasParent() {
		_, err = fmt.Fprint(cmd.OutOrStderr(), rootHelp)
	}
	return err
}

// flagValues are what flags expect, by their types. Those of other types say it themselves.
var flagValues = map[string]string{
	"duration": "a duration, such as 30s", "bool": "true or false", "int": "a whole number", "int64": "a whole number", "float64": "a number",
}

// group is a command that only holds others.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; %s --help lists them", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for place, c := range commands {
		setPlace(c, place)
		cmd.AddCommand(c)
	}
	return cmd
}

// withholdVariables withholds from servers the variables that flags such as --key-env name.
func withholdVariables(a *app, flags *pflag.FlagSet) {
	flags.Visit(func(f *pflag.Flag) {
		if strings.HasSuffix(f.Name, "-env") && f.Value.Type() == "string" {
			a.launch.Own.Add(f.Value.String())
		}
	})
}

// noMore says that a word of the command line means nothing.
func noMore(cmd *cobra.Command, words []string) error {
	if len(words) > 0 {
		return usagef("%s: unexpected %q", cmd.CommandPath(), words[0])
	}
	return nil
}

// configFlags say where servers are defined.
func configFlags(a *app, f *pflag.FlagSet) {
	f.StringArrayVar(&a.flags.config, "config", nil, "read servers from `FILE` only (repeatable)")
	f.BoolVarP(&a.launch.Verbose, "verbose", "v", false, "tell on stderr what goes on: debug log, servers' stderr, progress")
}

// connectionFlags are those of every command that connects to a server.
func connectionFlags(a *app, f *pflag.FlagSet) {
	configFlags(a, f)
	f.DurationVar(&a.launch.Timeout, "timeout", 0, "give up after `DURATION` without a response or progress, such as 30s (default 1m; 2m to connect)")
	f.StringVar(&a.flags.revision, "revision", "", "speak this `REVISION` of the protocol only, such as "+revision.LatestLegacy().Name)
	f.StringArrayVar(&a.launch.Header, "header", nil, "send the header `'NAME: VALUE'` to a URL (repeatable)")
	f.StringArrayVar(&a.launch.Env, "env", nil, "set `NAME=VALUE` in the environment of a command (repeatable)")
}

// requestFlags are those of every command whose request may ask something back.
func requestFlags(a *app, f *pflag.FlagSet) {
	connectionFlags(a, f)
	ownFlag(a, f)
	f.StringVar(&a.desk.Elicit, "elicit", "", "answer forms with accept, decline, cancel or a `JSON` object; default: ask on the terminal")
	f.StringVar(&a.desk.Sample, "sample", "", "answer in place of a language model with `TEXT`; default: refuse")
	f.StringArrayVar(&a.desk.Roots, "root", nil, "tell the server that it may work in `DIR` (repeatable); default: refuse")
	f.StringVar(&a.flags.logLevel, "log-level", "info", "show log messages of this `LEVEL` and above: debug to emergency, or none")
	f.StringVarP(&a.flags.output, "output", "o", "", "save images, audio and other data as `FILE`, or in a folder (DIR/)")
}
