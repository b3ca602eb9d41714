package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runKillable runs one command line and returns the exit code. After kill is closed, programs that
// the command started get no time to end by themselves.
func runKillable(ctx context.Context, p place.Place, kill <-chan struct{}, stops *cli.InterruptHandler, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := reach.Ready(&cli.App{Place: p, Signals: cli.Signals{Kill: kill, Stops: stops}, IO: cli.IO{Stdin: stdin, Stdout: stdout, Stderr: stderr, Out: terminal.NewScreen(stdout), Screen: terminal.NewScreen(stderr)}})
	if terminal.Present(stdin, a.Screen) {
		a.Person = terminal.NewPerson(stdin, a.Screen)
	}
	return runLine(ctx, a, args)
}

// runLine runs a command line and returns the exit code.
func runLine(ctx context.Context, a *cli.App, args []string) int {
	a.Desk.Place, a.Desk.Screen, a.Desk.Person = a.Place, a.Screen, a.Person
	a.Launch.UpArgs = func(args []string) (files, servers []string, ok bool) {
		child := new(cli.App)
		flags := up.Command(child).Flags()
		err := flags.Parse(args)
		return child.Launch.Config, flags.Args(), err == nil
	}
	root := root(a, args)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	cli.SetUpCompletion(root)
	suggestValues(a, root)
	uncover(a, root, args)
	stopped := reach.ReportStopping(ctx, a)
	ran, err := root.ExecuteContextC(ctx)
	err = cli.JoinClose(cli.WrapRefusal(err), a.Launch.Close())
	stopped()
	code := cli.ExitCode(ctx, err)
	if code == cli.ExitTimeout && ran.Flags().Lookup("timeout") != nil {
		err = cli.AddTimeoutHint(err)
	}
	reach.Fail(a, err, code, a.Flags.JSON || reach.WantsJSON(args))
	return code
}

// root returns the root command with all other commands, or with those that words can reach.
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
		PersistentPreRun: func(cmd *cobra.Command, _ []string) { reach.WithholdVariables(a, cmd.Flags()) },
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked, _ := cmd.Flags().GetBool("version"); asked { // the flag exists
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
		if wrong, is := errors.AsType[*pflag.InvalidValueError](err); is && reach.FlagValues[wrong.GetFlag().Value.Type()] != "" {
			err = fmt.Errorf("--%s: expected %s, got %q", wrong.GetFlag().Name, reach.FlagValues[wrong.GetFlag().Value.Type()], wrong.GetValue())
		}
		return cli.Usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.Flags().Bool("version", false, "print the version") // -v is --verbose in all commands
	root.SetUsageFunc(func(cmd *cobra.Command) error { return writeUsage(a, cmd) })
	a.WrapHelp(root)
	root.SetHelpCommand(cli.HelpCommand())
	grow(a, root, words)
	return root
}

const rootHelp = `
SERVER is the name of a server in a configuration file, or a URL. By default the files
of junction, Claude, Cursor, VS Code and others are read. A URL is http, https,
unix:PATH, tcp:HOST:PORT, or http+unix:PATH for junction up --http unix:PATH. Or leave
SERVER out, and write the server's command after "--". Without a configuration there
are two servers: everything, and filesystem (read-only, the current folder).

Shorter names of earlier versions still work: tools, add, remove, connect and others.
junction completion prints scripts for completion in shells.

` + cli.ExitHelp + "\n"

// writeUsage writes the usage of a command. For the root it adds text that applies to all commands.
func writeUsage(a *cli.App, cmd *cobra.Command) error {
	err := cli.PlainUsage(cmd, min(cli.HelpWidth, a.Out.Width()))
	if err == nil && !cmd.HasParent() {
		_, err = fmt.Fprint(cmd.OutOrStderr(), rootHelp)
	}
	return err
}
