package develop

import (
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/spf13/cobra"
)

// ServeCommand returns the command serve.
func ServeCommand(a *cli.App) *cobra.Command {
	var f up.Front
	var o reach.Shipping
	cmd := &cobra.Command{
		Use:   "serve NAME",
		Short: "Serve what ships with junction: filesystem, memory, sql, openapi and more",
		Long: `Serve one of the servers that ship with junction, to clients of every revision, on
standard input and output (the default) or at an address:

  everything   one of every feature, for trying and testing
  filesystem   list, read and search files inside the folders that --root names;
               with --write also write, edit and move them
  fetch        pages of the web as Markdown; no pages that robots.txt excludes, and no
               addresses of private networks
  memory       a knowledge graph that outlives conversations, in the file that --file
               names
  sql          query and describe a database of SQLite, MySQL, MariaDB or PostgreSQL;
               the variable of --dsn-env, or the file of --dsn-file, has its URL:
               sqlite:FILE, mysql://USER:PASSWORD@HOST/DATABASE or
               postgres://USER:PASSWORD@HOST/DATABASE; with --write also change it
  time         what time it is, in any time zone
  openapi      the operations of an HTTP API, by the OpenAPI document that --from names
  graphql      the queries and mutations of the GraphQL API that --url names
  http         single requests, by the templates that --tool gives

--tag, --path, --operation and --method select operations of openapi. With several
kinds, an operation must match each kind. --exclude leaves operations out. For graphql,
--operation and --exclude operation= select fields.

A secret is read from a variable of the environment: --auth-env TOKEN. To choose where
it is sent, write --auth-env WHERE=TOKEN. WHERE is a security scheme of the document,
bearer, basic (for USER:PASSWORD), header:NAME, query:NAME or cookie:NAME.`,
		ValidArgs: cli.ShippedNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("%s: expected one of %s", cmd.CommandPath(), strings.Join(cli.ShippedNames(), ", "))
			}
			if err := f.Prepare(a); err != nil {
				return err
			}
			if err := o.CheckFlags(cmd.Flags(), args[0]); err != nil {
				return err
			}
			f.Stdio = f.HTTP == ""
			h, err := reach.Shipped(cmd.Context(), a, args[0], o)
			if err != nil {
				return err
			}
			up.HintStdio(a, f)
			return cli.IgnoreInterrupt(cmd.Context(), up.Serve(cmd.Context(), a, f, h))
		},
	}
	f.Define(cmd.Flags(), up.FrontMembers()...)
	o.Flags(cmd.Flags())
	cmd.Flags().BoolVarP(&a.Launch.Verbose, "verbose", "v", false, "log to stderr in detail")
	return cmd
}
