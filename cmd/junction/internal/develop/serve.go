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
  fetch        pages of the web as Markdown; not those that robots.txt excludes, and not
               from addresses of private networks
  memory       a knowledge graph that outlives conversations, in the file that --file
               names
  sql          query and describe a database of SQLite, MySQL, MariaDB or PostgreSQL;
               the variable that --dsn-env names, or the file that --dsn-file names, has
               its URL: sqlite:FILE, mysql://USER:PASSWORD@HOST/DATABASE or
               postgres://USER:PASSWORD@HOST/DATABASE; with --write also change it
  time         what time it is, in any time zone
  openapi      the operations of an HTTP API, by the OpenAPI document that --from names
  graphql      the queries and mutations of the GraphQL API that --url names
  http         single requests, by the templates that --tool gives

--tag, --path, --operation and --method pick operations of openapi, which must fit each
kind that is given; --exclude has those that do not become tools. --operation and
--exclude operation= pick fields of graphql.

A secret is read from a variable of the environment: --auth-env TOKEN, or with where it
goes, --auth-env WHERE=TOKEN, where WHERE is a security scheme of the document or else
bearer, basic (of USER:PASSWORD), header:NAME, query:NAME or cookie:NAME.`,
		ValidArgs: cli.ShippedNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("%s: expected one of %s", cmd.CommandPath(), strings.Join(cli.ShippedNames(), ", "))
			}
			if err := f.Check(); err != nil {
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
	f.Flags(cmd.Flags(), "")
	o.Flags(cmd.Flags())
	cmd.Flags().BoolVarP(&a.Launch.Verbose, "verbose", "v", false, "tell on stderr what goes on")
	return cmd
}
