package watch

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/console/inspect"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// InspectCommand returns the command inspect.
func InspectCommand(a *cli.App) *cobra.Command {
	var o consoleOptions
	cmd := &cobra.Command{
		Use:   "inspect SERVER | -- COMMAND…",
		Short: "Try a server in a browser: its tools, questions and messages",
		Long: `Serve the console's page on this machine, as junction console does, and connect to one
server: a name from a configuration, a URL, or a command at the end. The page shows the
connection, the offers of the server, and every message. You can call its tools and answer
its questions there.

  junction inspect https://example.com/mcp
  junction inspect -- npx -y some-server

Exit codes:
  0    ended by Ctrl-C
  2    the command line is wrong
  3    there is no server of this name, its entry cannot be used, or the page cannot be served
       at its address`,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := wanted(a, cmd, args)
			if err != nil {
				return err
			}
			if s.Name != "" && launch.At(s.Name) == nil {
				if _, _, err := reach.FindConfigured(a, s.Name); err != nil {
					return &cli.ConnectError{Cause: err}
				}
			}
			o.inspected = s
			return cli.IgnoreInterrupt(cmd.Context(), serveConsole(cmd.Context(), a, o))
		},
	}
	o.flags(cmd)
	reach.ConnectionFlags(a, cmd.Flags())
	return cmd
}

// wanted returns the server that a command line names, which the inspector will resolve.
func wanted(a *cli.App, cmd *cobra.Command, args []string) (*inspect.Server, error) {
	if err := reach.CheckFlags(a); err != nil {
		return nil, err
	}
	dash := cmd.ArgsLenAtDash()
	switch s := (&inspect.Server{Revision: a.Launch.Revision}); {
	case len(args) == 0 && dash >= 0:
		return nil, cli.Usagef(`expected the command of a server after "--"`)
	case len(args) == 0:
		return nil, cli.Usagef(`%s: SERVER is missing: a name from a configuration, a URL, or "--" and a command at the end`, cmd.CommandPath())
	case dash > 0 || dash < 0 && len(args) > 1:
		return nil, cli.Usagef("%s: expected one server", cmd.CommandPath())
	case dash == 0 && (len(args) > 1 || launch.At(args[0]) == nil):
		s.Command, s.Args = args[0], args[1:]
		var err error
		if s.Env, err = launch.Pairs(a.Launch.Env, launch.WrongEnv); err != nil {
			return nil, err
		}
		return s, onlyFor(len(a.Launch.Header) > 0, "--header is for servers with a URL")
	case isHTTP(args[0]):
		header, err := launch.Headers(a.Launch.Header)
		s.URL, s.Headers = args[0], map[string]string{}
		for name, values := range header {
			s.Headers[name] = strings.Join(values, ", ")
		}
		if err != nil {
			return nil, err
		}
		return s, onlyFor(len(a.Launch.Env) > 0, "--env is for the command of a server")
	default:
		s.Name = args[0]
		return s, onlyFor(len(a.Launch.Header)+len(a.Launch.Env) > 0, "--header and --env do not apply to a configured server: change its entry")
	}
}

// onlyFor returns a usage error if given is true.
func onlyFor(given bool, problem string) error {
	if given {
		return cli.Usagef("%s", problem)
	}
	return nil
}

// An InspectableServer is a server to which the console can connect by name.
type InspectableServer struct {
	Name     string `json:"name"`
	Origin   string `json:"origin"`             // place of its definition
	Reached  string `json:"reached,omitempty"`  // command line or URL, without secrets
	Disabled bool   `json:"disabled,omitempty"` // whether the user disabled it; the console can still connect
}

// inspectable returns the servers to which the console can connect by name: configured servers, and
// those that ship with junction. It also returns the problems of the configuration.
func inspectable(a *cli.App) (any, error) {
	c, err := a.Launch.Read()
	set, entries := c.Set, c.Entries
	if err != nil && len(a.Launch.Config) > 0 {
		return nil, err
	}
	all := []InspectableServer{}
	for _, e := range entries {
		one := InspectableServer{Name: e.Name, Origin: e.Origin(a.Place), Disabled: e.IsDisabled()}
		if e.Definition != nil {
			one.Reached = e.Definition.String()
		}
		all = append(all, one)
	}
	for _, name := range cli.ShippedNames() {
		if !slices.ContainsFunc(entries, func(e launch.Entry) bool { return e.Name == name }) {
			all = append(all, InspectableServer{Name: name, Origin: launch.Entry{Name: name}.Origin(a.Place)})
		}
	}
	problems := []string{}
	if err != nil {
		problems = append(problems, why.Text(err))
	}
	for _, p := range set.Problems() {
		problems = append(problems, why.Text(reach.Unusable(p, set)))
	}
	return struct {
		Servers  []InspectableServer `json:"servers"`
		Problems []string            `json:"problems"`
	}{all, problems}, nil
}
