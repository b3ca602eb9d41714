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

junction remembers what servers offered at their last connection. It starts only
servers that it does not remember. The commands below list one kind in full, for one
server or all. If a server and a command have the same name, the server wins.
`,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				return cli.Usagef(`%s lists only configured servers; for a command, use %s list tools -- COMMAND`, cmd.CommandPath(), cmd.Root().Name())
			}
			l := ToolList()
			l.Text, l.Brief = l.Brief, nil
			return listAll(cmd.Context(), a, l, args, refresh, true)
		},
	}
	cmd.Flags().BoolVar(&refresh, "refresh", false, "ask all servers, even those with remembered tools")
	reach.ConnectionFlags(a, cmd.Flags())
	a.JSONFlag(cmd, ListsShown{})
	return cmd
}
