package use

import (
	"context"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// PingCommand returns the command ping.
func PingCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "ping SERVER",
		Short:             "Check that a server is reachable, and show its name and version",
		Long:              "Connect to a server, check that it responds, and print its name and version.\n\n" + cli.ExitHelp,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: reach.RunWithServer(a, func(cmd *cobra.Command, words []string) (reach.Action, error) {
			return func(ctx context.Context, client *mcp.Client) error { return ping(ctx, a, client) }, cli.NoArguments(cmd, words)
		}),
	}
	reach.ConnectionFlags(a, cmd.Flags())
	a.JSONFlag(cmd, struct{}{})
	return cmd
}

// ping pings a server, and prints the time and the revision of the protocol.
func ping(ctx context.Context, a *cli.App, client *mcp.Client) error {
	start := time.Now()
	if err := client.Ping(ctx); err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.PrintJSON(struct{}{})
	}
	_, err := fmt.Fprintf(a.Out, "%s: reachable, answered in %v, revision %s%s\n", plaintext.Line(client.Name(), 200),
		time.Since(start).Round(10*time.Microsecond), client.Revision(), ServerVersion(client.Server()))
	return err
}

// ServerVersion returns the name and version of a server, preceded by a comma. It returns the empty
// string for a server without a name.
func ServerVersion(server *mcp.Implementation) string {
	if server == nil || server.Name == "" {
		return ""
	}
	return plaintext.Line(", "+server.Name+" "+server.Version, 200)
}
