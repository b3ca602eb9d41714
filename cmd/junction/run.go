package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runKillable runs one command line and returns the exit code. Once kill is closed, programs that were
// started are killed without grace when they are to end.
func runKillable(ctx context.Context, p place.Place, kill <-chan struct{}, stops *cli.Stops, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := cli.Ready(&cli.App{Place: p, Kill: kill, Stops: stops, Stdin: stdin, Stdout: stdout, Stderr: stderr, Out: terminal.NewScreen(stdout), Screen: terminal.NewScreen(stderr)})
	if terminal.Present(stdin, a.Screen) {
		a.Person = terminal.NewPerson(stdin, a.Screen)
	}
	return runLine(ctx, a, args)
}

// runLine runs a command line.
func runLine(ctx context.Context, a *cli.App, args []string) int {
	a.Desk.Place, a.Desk.Screen, a.Desk.Person = a.Place, a.Screen, a.Person
	a.UpFlags = func(child *cli.App) *pflag.FlagSet { return upCommand(child).Flags() }
	root := root(a, args)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	cli.FitCompletion(root)
	suggestValues(a, root)
	uncover(a, root, args)
	stopped := tellStopping(ctx, a)
	ran, err := root.ExecuteContextC(ctx)
	err = cli.Closed(cli.Refusal(err), a.Launch.Close())
	stopped()
	code := cli.ExitCode(ctx, err)
	if code == cli.ExitTimeout && ran.Flags().Lookup("timeout") != nil {
		err = cli.Longer(err)
	}
	fail(a, err, code, a.Flags.JSON || wantsJSON(args))
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
func fail(a *cli.App, err error, code int, asJSON bool) {
	switch {
	case err == nil || errors.Is(err, cli.ErrToolFailed), errors.As(err, new(*cli.EndedError)):
		return
	case code == cli.ExitInterrupted:
		err = cli.ErrInterrupted
	case errors.Is(err, cli.ErrReported):
		return
	}
	if a.Log != nil {
		a.Log.Error(why.Once(why.Text(err)))
	} else {
		a.Screen.Printf("junction: %s\n", why.Once(why.Text(err)))
	}
	if errors.Is(err, &mcp.Error{Code: mcp.CodeMissingCapability}) {
		a.Screen.Printf("  (--sample answers for a language model, --root names folders to work in.)\n")
	}
	if asJSON {
		fmt.Fprintf(a.Stdout, "%s\n", cli.ErrorObject(err))
	}
}

// stopPause is how long nothing is said of an end that was asked for.
const stopPause = 300 * time.Millisecond

// tellStopping says, when an interrupt does not end the command at once, that it is
// heard: servers get time to end. stopped says that the command ended.
func tellStopping(ctx context.Context, a *cli.App) (stopped func()) {
	over := make(chan struct{})
	unheard := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), cli.ErrInterrupted) {
			return
		}
		select {
		case <-over:
		case <-time.After(stopPause):
			a.Screen.Printf("junction: stopping; Ctrl-C again kills what is still running\n")
		}
	})
	return func() {
		unheard()
		close(over)
	}
}

// root returns the command that has all others, or those that these words can reach.
func root(a *cli.App, words []string) *cobra.Command {
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
				return cli.UnknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked, _ := cmd.Flags().GetBool("version"); asked { // it is there
				_, err := fmt.Fprint(cmd.OutOrStdout(), versionText())
				return err
			}
			if a.Out.Terminal() {
				return showStart(cmd.Context(), a)
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if wrong, is := errors.AsType[*pflag.InvalidValueError](err); is && flagValues[wrong.GetFlag().Value.Type()] != "" {
			err = fmt.Errorf("--%s: expected %s, got %q", wrong.GetFlag().Name, flagValues[wrong.GetFlag().Value.Type()], wrong.GetValue())
		}
		return cli.Usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.Flags().Bool("version", false, "print the version") // -v is --verbose everywhere
	root.SetUsageFunc(func(cmd *cobra.Command) error { return writeUsage(a, cmd) })
	a.FitHelp(root)
	root.SetHelpCommand(cli.HelpCommand())
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

` + cli.ExitHelp + "\n"

// writeUsage writes how a command is used, and what holds for all of them where it is the root.
func writeUsage(a *cli.App, cmd *cobra.Command) error {
	err := cli.PlainUsage(cmd, min(cli.HelpWidth, a.Out.Width()))
	if err == nil && !cmd.HasParent() {
		_, err = fmt.Fprint(cmd.OutOrStderr(), rootHelp)
	}
	return err
}

// flagValues are what flags expect, by their types. Those of other types say it themselves.
var flagValues = map[string]string{
	"duration": "a duration, such as 30s", "bool": "true or false", "int": "a whole number", "int64": "a whole number", "float64": "a number",
}

// withholdVariables withholds from servers the variables that flags such as --key-env name.
func withholdVariables(a *cli.App, flags *pflag.FlagSet) {
	flags.Visit(func(f *pflag.Flag) {
		if strings.HasSuffix(f.Name, "-env") && f.Value.Type() == "string" {
			a.Launch.Own.Add(f.Value.String())
		}
	})
}

// configFlags say where servers are defined.
func configFlags(a *cli.App, f *pflag.FlagSet) {
	f.StringArrayVar(&a.Flags.Config, "config", nil, "read servers from `FILE` only (repeatable)")
	f.BoolVarP(&a.Launch.Verbose, "verbose", "v", false, "tell on stderr what goes on: debug log, servers' stderr, progress")
}

// connectionFlags are those of every command that connects to a server.
func connectionFlags(a *cli.App, f *pflag.FlagSet) {
	configFlags(a, f)
	f.DurationVar(&a.Launch.Timeout, "timeout", 0, "give up after `DURATION` without a response or progress, such as 30s (default 1m; 2m to connect)")
	f.StringVar(&a.Flags.Revision, "revision", "", "speak this `REVISION` of the protocol only, such as "+revision.LatestLegacy().Name)
	f.StringArrayVar(&a.Launch.Header, "header", nil, "send the header `'NAME: VALUE'` to a URL (repeatable)")
	f.StringArrayVar(&a.Launch.Env, "env", nil, "set `NAME=VALUE` in the environment of a command (repeatable)")
}

// requestFlags are those of every command whose request may ask something back.
func requestFlags(a *cli.App, f *pflag.FlagSet) {
	connectionFlags(a, f)
	ownFlag(a, f)
	f.StringVar(&a.Desk.Elicit, "elicit", "", "answer forms with accept, decline, cancel or a `JSON` object; default: ask on the terminal")
	f.StringVar(&a.Desk.Sample, "sample", "", "answer in place of a language model with `TEXT`; default: refuse")
	f.StringArrayVar(&a.Desk.Roots, "root", nil, "tell the server that it may work in `DIR` (repeatable); default: refuse")
	f.StringVar(&a.Flags.LogLevel, "log-level", "info", "show log messages of this `LEVEL` and above: debug to emergency, or none")
	f.StringVarP(&a.Flags.Output, "output", "o", "", "save images, audio and other data as `FILE`, or in a folder (DIR/)")
}
