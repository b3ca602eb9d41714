package use

import (
	"context"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// ReadCommand returns the command read.
func ReadCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "read SERVER URI",
		Short: "Read a resource",
		Long: `Read a resource of a server. Text is printed unchanged. For other contents the type
and size are printed; --output saves them.

` + cli.ExitHelp,
		ValidArgsFunction: reach.CompleteFrom(a, reach.ListNames((*mcp.Client).Resources, func(r *mcp.Resource) (name, what string) { return r.URI, r.Name })),
		RunE: reach.RunWithServer(a, func(cmd *cobra.Command, words []string) (reach.Action, error) {
			if len(words) != 1 {
				return nil, cli.Usagef("%s: expected one URI, got %d arguments; junction list resources lists them", cmd.CommandPath(), len(words))
			}
			return func(ctx context.Context, client *mcp.Client) error {
				var result mcp.ReadResourceResult
				return reach.PrintRequest(ctx, a, "resources/read", reach.Params("uri", words[0], nil), &result, func(width int, save show.Save) (string, error) {
					return show.Contents(&result, width, save)
				})
			}, nil
		}),
	}
	reach.RequestFlags(a, cmd.Flags())
	a.JSONFlag(cmd, mcp.ReadResourceResult{})
	return cmd
}
