package use

import (
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/spf13/cobra"
)

// ListCommand returns the command list.
func ListCommand(a *cli.App) *cobra.Command {
	var refresh bool
	cmd := &cobra.Command{
		Use:     "list [SERVER…]",
		Aliases: []string{"ls"},
		Short:   "List your servers, and the tools, resources, prompts and skills of each",
		Long: `List every configured server, or those named: the file that defines it, and its tools
with the first sentence of each description.

What servers offer is remembered when they are connected to; those that are remembered
are not started. Others are connected to. The commands below list one kind of what
they offer, in full, of one server or all. A server with the name of one comes first.
`,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				return cli.Usagef(`%s: lists configured servers; for the command of one, see %s list tools -- COMMAND`, cmd.CommandPath(), cmd.Root().Name())
			}
			l := ToolList()
			l.Text, l.Brief = l.Brief, nil
			return listAll(cmd.Context(), a, l, args, refresh, true)
		},
	}
	cmd.Flags().BoolVar(&refresh, "refresh", false, "ask all servers, also those whose tools are remembered")
	reach.ConnectionFlags(a, cmd.Flags())
	a.JSONFlag(cmd, ListsShown{})
	return cmd
}
