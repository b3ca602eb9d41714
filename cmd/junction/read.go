package main

import (
	"context"

	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

func (a *app) readCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "read SERVER URI",
		Short: "Read a resource",
		Long: `Read a resource of a server. Text is printed as it is; of other contents the type
and size are printed, and --output saves them.

` + exitHelp,
		ValidArgsFunction: a.suggests(listed((*mcp.Client).Resources, func(r *mcp.Resource) (name, what string) { return r.URI, r.Name })),
		RunE: a.asking(func(cmd *cobra.Command, words []string) (action, error) {
			if len(words) != 1 {
				return nil, usagef("%s: expected one URI, got %d arguments; junction resources lists them", cmd.CommandPath(), len(words))
			}
			return func(ctx context.Context, client *mcp.Client) error {
				var result mcp.ReadResourceResult
				return a.request(ctx, "resources/read", params("uri", words[0], nil), &result, func(width int, save show.Save) (string, error) {
					return show.Contents(&result, width, save)
				})
			}, nil
		}),
	}
	a.requestFlags(cmd.Flags())
	a.jsonFlag(cmd, mcp.ReadResourceResult{})
	return cmd
}
