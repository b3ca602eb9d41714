package main

import (
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
		ValidArgsFunction: a.suggestResources,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			t, rest, err := a.target(ctx, cmd, args)
			if err != nil {
				return err
			}
			if len(rest) != 1 {
				return usagef("%s: expected one URI, got %d arguments; junction resources lists them", cmd.CommandPath(), len(rest))
			}
			client, err := a.connect(ctx, t)
			if err != nil {
				return err
			}
			defer client.Close()
			answer, err := a.do(ctx, client, "resources/read", params("uri", rest[0], nil))
			if err != nil {
				return err
			}
			var result mcp.ReadResourceResult
			return a.answered("resources/read", answer, &result, func(width int, save show.Save) (string, error) {
				return show.Contents(&result, width, save)
			})
		},
	}
	a.requestFlags(cmd.Flags())
	return cmd
}
