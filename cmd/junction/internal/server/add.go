package server

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// AddCommand returns the command server add.
func AddCommand(a *cli.App) *cobra.Command {
	var o add.Options
	var registries RegistryFlags
	var project bool
	cmd := &cobra.Command{
		Use:   "add NAME|PACKAGE|URL|FOLDER [-- ARGUMENT…]",
		Short: "Install a server, show it, and add it to the configuration",
		Long: `Add a server to the configuration. junction installs it, starts it once, and shows the command,
the tools, and anything suspicious. If you agree, junction writes its entry, in a form that any
host understands. junction.lock next to it records the installed files, to the byte. From then
on exactly these are started, without a package manager and without a network.

  junction server add io.github.owner/server            # by its name in the registry
  junction server add npm:@modelcontextprotocol/server-everything
  junction server add pypi:mcp-server-time@2026.10.19   # or cargo: nuget: docker: mcpb:
  junction server add https://example.com/mcp
  junction server add ./folder
  junction server add npm:@modelcontextprotocol/server-filesystem -- /home/me/notes

The entry goes into your own configuration, junction/mcp.json; --project writes junction.json of
the project, and --config any file. junction asks for values that the server needs; --set gives
them. Secrets are kept as junction secret keeps them. The program is confined. It reads the system
and its own package. It reads the files and writes into the folders that you name, also with
--env. It reaches the hosts in its arguments and of --host. junction server sandbox allow NAME
allows more.

Exit codes:
  0    it was added, or the answer was no
  2    the command line is wrong, or a question has no terminal
  3    it was not added: the package, its start, or a file failed; nothing was changed
  5    it did not answer in time
  130  interrupted (Ctrl-C)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var more []string
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, more = args[:dash], args[dash:]
			}
			if len(args) != 1 {
				return cli.Usagef("%s: expected one server, got %d; write the server's arguments after \"--\"", cmd.CommandPath(), len(args))
			}
			file, err := AddFile(a, project)
			if err != nil {
				return err
			}
			o.Arguments, o.Typed = more, typedFlags(cmd.Flags())
			adder := adder(a)
			adder.File, adder.Registries = file, &adderRegistries{a, registries}
			added, err := adder.Add(cmd.Context(), args[0], o)
			if added != nil {
				showAdded(a, added, file)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.Name, "name", "", "call the server `NAME` in the configuration")
	cmd.Flags().BoolVar(&project, "project", false, "write into junction.json of the current project")
	cmd.Flags().BoolVar(&o.Local, "local", false, "install a package, even if the server has a URL, too")
	cmd.Flags().BoolVar(&o.Sure, "sure", false, "add it in spite of warnings, such as a name close to a better known one")
	cmd.Flags().BoolVar(&o.Scripts, "scripts", false, "let the package run its install scripts, if it cannot be installed without them")
	cmd.Flags().StringVar(&o.With, "with", "", "install a package from PyPI with one more `REQUIREMENT`, such as 'mcp<2'")
	cmd.Flags().StringArrayVar(&o.Set, "set", nil, "give the value `KEY=VALUE` that the server needs (repeatable)")
	cmd.Flags().StringArrayVar(&o.Env, "env", nil, "write `NAME=VALUE` into the entry's environment (repeatable); a value can be ${secret:NAME}")
	cmd.Flags().StringArrayVar(&o.Header, "header", nil, "write the header `'NAME: VALUE'` into the entry of a URL (repeatable)")
	cmd.Flags().BoolVar(&o.NoSandbox, "no-sandbox", false, "do not confine the server's program")
	cmd.Flags().StringArrayVar(&o.Allowed.Hosts, "host", nil, "let the confined program reach `HOST` at ports 443 and 80, or HOST:PORT (repeatable)")
	cmd.Flags().StringArrayVar(&o.Allowed.Read, "read", nil, "let the confined program read `PATH` (repeatable)")
	cmd.Flags().StringArrayVar(&o.Allowed.Write, "write", nil, "let the confined program read and write `PATH` (repeatable)")
	yesFlag(cmd.Flags(), &o.Yes)
	registries.Define(cmd.Flags())
	reach.ConfigFlags(a, cmd.Flags())
	cmd.Flags().Lookup("config").Usage = "write the entry into `FILE`"
	cmd.Flags().DurationVar(&a.Launch.Timeout, "timeout", 0, "give up after `DURATION` without a response, such as 30s (default 1m; 2m to connect)")
	return cmd
}

// showAdded prints the added server and a call to try.
func showAdded(a *cli.App, added *add.Result, file string) {
	a.Out.Printf("Added %q to %s.\n", added.Name, a.Short(file))
	if added.NeedsLogin {
		a.Out.Printf("It needs a login: junction login %s\n", plaintext.ShellWord(added.Name))
	} else if added.FirstCall != "" {
		a.Out.Printf("Try it: %s\n", added.FirstCall)
	}
	if added.HowToAllow != "" {
		a.Out.Printf("%s\n", added.HowToAllow)
	}
}

// yesFlag defines the flag --yes.
func yesFlag(f *pflag.FlagSet, yes *bool) {
	f.BoolVarP(yes, "yes", "y", false, "do not ask")
}

// AddFile returns the file to which servers are written: the file of --config, junction.json of the
// project, or the user's own file.
func AddFile(a *cli.App, project bool) (string, error) {
	switch {
	case len(a.Launch.Config) > 1:
		return "", cli.Usagef("--config: expected one file to write to, got %d", len(a.Launch.Config))
	case len(a.Launch.Config) == 1 && project:
		return "", cli.Usagef("--project and --config both name the file to write; leave one out")
	case len(a.Launch.Config) == 1:
		return a.Real(a.Launch.Config[0]), nil
	case project:
		for _, path := range config.Find(launch.ConfigOptions(a.Place)) {
			if filepath.Base(path) == "junction.json" {
				return a.Real(path), nil
			}
		}
		return a.Real("junction.json"), nil
	}
	path := config.Own(launch.ConfigOptions(a.Place))
	if path == "" {
		return "", cli.Usagef("your home folder is not known; name a file with --config")
	}
	return a.Real(path), nil
}

// typedFlags returns the given flags as text for a command line. It omits the values of variables,
// headers and inputs, which may be secret.
func typedFlags(f *pflag.FlagSet) string {
	var words []string
	f.Visit(func(one *pflag.Flag) {
		values := []string{one.Value.String()}
		if list, is := one.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch one.Name {
			case "yes": // applies only to the question
			case "env", "set":
				value, _, _ = strings.Cut(value, "=")
				words = append(words, "--"+one.Name, plaintext.ShellWord(value)+"=…")
			case "header":
				value, _, _ = strings.Cut(value, ":")
				words = append(words, "--"+one.Name, strconv.Quote(value+": …"))
			default:
				if words = append(words, "--"+one.Name); one.Value.Type() != "bool" {
					words = append(words, plaintext.ShellWord(value))
				}
			}
		}
	})
	return strings.Join(words, " ")
}
