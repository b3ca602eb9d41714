package reach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/pflag"
)

// WantsJSON reports whether args contain --json. It is for command lines whose flags cannot be
// parsed.
func WantsJSON(args []string) bool {
	if dash := slices.Index(args, "--"); dash >= 0 {
		args = args[:dash]
	}
	return slices.Contains(args, "--json")
}

// Fail prints the reason why a command failed. With asJSON it also prints an error object on
// standard output. It prints nothing for errors that were already reported.
func Fail(a *cli.App, err error, code int, asJSON bool) {
	switch {
	case err == nil || errors.Is(err, cli.ErrToolFailed), errors.As(err, new(*cli.ExitError)):
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

// stopPause is how long an interrupted command may take to end before it prints that it is
// stopping.
const stopPause = 300 * time.Millisecond

// ReportStopping prints a line if the command still runs [stopPause] after an interrupt. The caller
// must call stopped when the command has ended.
func ReportStopping(ctx context.Context, a *cli.App) (stopped func()) {
	over := make(chan struct{})
	unheard := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), cli.ErrInterrupted) {
			return
		}
		select {
		case <-over:
		case <-time.After(stopPause):
			a.Screen.Printf("junction: stopping; Ctrl-C again kills the processes that still run\n")
		}
	})
	return func() {
		unheard()
		close(over)
	}
}

// FlagValues describes the valid values of flags, by the type of the flag. All other types describe
// themselves.
var FlagValues = map[string]string{
	"duration": "a duration, such as 30s", "bool": "true or false", "int": "a whole number", "int64": "a whole number", "float64": "a number",
}

// WithholdVariables hides the environment variables that flags such as --key-env name from servers.
func WithholdVariables(a *cli.App, flags *pflag.FlagSet) {
	flags.Visit(func(f *pflag.Flag) {
		if strings.HasSuffix(f.Name, "-env") && f.Value.Type() == "string" {
			a.Launch.Own.Add(f.Value.String())
		}
	})
}

// ConfigFlags defines the flags that select configuration files, and --verbose.
func ConfigFlags(a *cli.App, f *pflag.FlagSet) {
	f.StringArrayVar(&a.Launch.Config, "config", nil, "read servers from `FILE` only (repeatable)")
	f.BoolVarP(&a.Launch.Verbose, "verbose", "v", false, "log to stderr in detail: debug log, servers' stderr, progress")
}

// ConnectionFlags defines the flags of every command that connects to a server.
func ConnectionFlags(a *cli.App, f *pflag.FlagSet) {
	ConfigFlags(a, f)
	f.DurationVar(&a.Launch.Timeout, "timeout", 0, "give up after `DURATION` without a response or progress, such as 30s (default 1m; 2m to connect)")
	f.StringVar(&a.Launch.Revision, "revision", "", "speak this `REVISION` of the protocol only, such as "+revision.LatestLegacy().Name)
	f.StringArrayVar(&a.Launch.Header, "header", nil, "send the header `'NAME: VALUE'` to a URL (repeatable)")
	f.StringArrayVar(&a.Launch.Env, "env", nil, "set `NAME=VALUE` in the environment of a command (repeatable)")
}

// RequestFlags defines the flags of every command that sends a request during which the server may
// send requests, too.
func RequestFlags(a *cli.App, f *pflag.FlagSet) {
	ConnectionFlags(a, f)
	OwnFlag(a, f)
	f.StringVar(&a.Desk.Elicit, "elicit", "", "answer forms with accept, decline, cancel or a `JSON` object; default: ask on the terminal")
	f.StringVar(&a.Desk.Sample, "sample", "", "answer in place of a language model with `TEXT`; default: refuse")
	f.StringArrayVar(&a.Desk.Roots, "root", nil, "let the server work in `DIR` (repeatable); default: refuse")
	f.StringVar(&a.Flags.LogLevel, "log-level", "info", "show log messages of this `LEVEL` and above: debug to emergency, or none")
	f.StringVarP(&a.Flags.Output, "output", "o", "", "save images, audio and other data as `FILE`, or in a folder (DIR/)")
}

// FrozenFlag defines the flag --frozen, which allows only programs that are locked and installed.
func FrozenFlag(a *cli.App, f *pflag.FlagSet) {
	f.BoolVar(&a.Launch.Frozen, "frozen", false, "start only programs that are in junction.lock and installed, as junction server install does; for CI and teams")
}

// Ready prepares an App to connect to servers, and returns it.
func Ready(a *cli.App) *cli.App {
	l := &a.Launch
	l.Place, l.Locks.Place, l.Screen, l.Kill, l.Log = a.Place, a.Place, a.Screen, a.Kill, a.Logger
	l.Prompter, l.Info = cli.TerminalPrompter{App: a}, mcp.Implementation{Name: "junction", Title: "Junction", Version: cli.Version}
	l.Refused = func(server, line string, lost bool) { a.StderrOf(server).AddRefused(line, lost) }
	l.Ships = launch.Ships{Names: cli.ShippedNames(), Open: func(ctx context.Context, name string) (mcp.Handler, error) {
		return Shipped(ctx, a, name, Shipping{})
	}}
	return a
}
