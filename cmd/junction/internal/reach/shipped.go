package reach

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/clock"
	"github.com/junction-mcp/junction/servers/everything"
	"github.com/junction-mcp/junction/servers/fetch"
	"github.com/junction-mcp/junction/servers/filesystem"

	graph "github.com/junction-mcp/junction/servers/memory"

	database "github.com/junction-mcp/junction/servers/sql"
	"github.com/spf13/pflag"
)

// A Shipping holds the options of a server that ships with junction.
type Shipping struct {
	Roots []string // of filesystem; default: the current folder
	write bool     // of filesystem and sql
	file  string   // of memory; default: memory.db in Junction's folder
	fetch fetch.Options
	API   APIShipping

	dsnEnv, dsnFile string // of sql: the variable or the file with the data source name
}

// Flags defines the flags in a set.
func (o *Shipping) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.Roots, "root", nil, "let filesystem reach into `DIR` (repeatable); default: the current folder")
	flags.BoolVar(&o.write, "write", false, "let filesystem change files, and sql its database")
	flags.StringVar(&o.file, "file", "", "let memory keep its graph in `FILE` (default: memory.db in junction's folder of your configuration)")
	flags.BoolVar(&o.fetch.AllowPrivate, "private", false, "let fetch read from addresses of private networks and of this machine")
	flags.BoolVar(&o.fetch.IgnoreRobots, "ignore-robots", false, "let fetch read pages that robots.txt asks programs not to read")
	o.API.flags(flags)
	flags.StringVar(&o.dsnEnv, "dsn-env", "", "let sql read where its database is from the environment variable `NAME`")
	flags.StringVar(&o.dsnFile, "dsn-file", "", "let sql read where its database is from `FILE`")
}

// CheckFlags returns an error if a flag that is set belongs to another server.
func (o *Shipping) CheckFlags(flags *pflag.FlagSet, name string) (err error) {
	servers := map[string][]string{
		"root": {"filesystem"}, "write": {"filesystem", "sql"}, "file": {"memory"}, "private": {"fetch"}, "ignore-robots": {"fetch"}, "dsn-env": {"sql"}, "dsn-file": {"sql"},
		"from": {"openapi", "graphql"}, "operation": {"openapi", "graphql"}, "exclude": {"openapi", "graphql"}, "auth-env": {"openapi", "graphql", "http"},
		"base": {"openapi", "http"}, "tag": {"openapi"}, "path": {"openapi"}, "method": {"openapi"}, "url": {"graphql"}, "depth": {"graphql"}, "tool": {"http"},
	}
	flags.Visit(func(f *pflag.Flag) {
		if of := servers[f.Name]; len(of) > 0 && !slices.Contains(of, name) {
			err = cli.Usagef("--%s is for %s", f.Name, strings.Join(of, " and "))
		}
	})
	return err
}

// Shipped returns a new server that ships with junction. Its resources are closed when the command
// ends.
func Shipped(ctx context.Context, a *cli.App, name string, o Shipping) (mcp.Handler, error) {
	switch name {
	case "everything":
		return everything.New(), nil
	case "filesystem":
		if len(o.Roots) == 0 {
			o.Roots = []string{"."}
		}
		o.Roots = a.Paths(o.Roots)
		return filesystem.New(filesystem.Options{Roots: o.Roots, Write: o.write, Logger: a.Logger()})
	case "memory":
		var err error
		if o.file == "" {
			if o.file, err = a.State("memory.db"); err != nil {
				return nil, err
			}
		}
		m, err := graph.Open(ctx, a.Path(o.file))
		if err != nil {
			return nil, err
		}
		a.Launch.AtEnd(m)
		return m, nil
	case "fetch":
		return fetch.New(o.fetch), nil
	case "openapi":
		return openAPI(ctx, a, &o.API)
	case "graphql":
		return graphQL(ctx, a, &o.API)
	case "http":
		return httpTools(a, &o.API)
	case "sql":
		return openDatabase(ctx, a, o)
	case "time":
		zone, err := clock.Local(a.Getenv("TZ"))
		if err != nil {
			return nil, err
		}
		return clock.New(clock.Options{Zone: zone}), nil
	}
	if near := nearest.Name(name, cli.ShippedNames()); near != "" {
		return nil, cli.Usagef("no server called %q ships with junction; did you mean %q?", name, near)
	}
	return nil, &cli.UsageError{Err: fmt.Errorf("no server called %q ships with junction (there are: %s)", name, strings.Join(cli.ShippedNames(), ", "))}
}

// maxDSNFile limits the bytes of a file with a DSN.
const maxDSNFile = 16 << 10

// openDatabase returns the server sql. The DSN is read from a variable or a file, because it has a
// password and flags are visible to all users of the machine.
func openDatabase(ctx context.Context, a *cli.App, o Shipping) (mcp.Handler, error) {
	dsn, err := o.dsn(a.Place)
	if err != nil {
		return nil, err
	}
	d, err := database.Open(ctx, database.Options{DSN: dsn, Write: o.write})
	if err != nil {
		return nil, err
	}
	a.Launch.AtEnd(d)
	return d, nil
}

// dsn returns the DSN from the variable or the file.
func (o Shipping) dsn(p place.Place) (string, error) {
	switch {
	case (o.dsnEnv == "") == (o.dsnFile == ""):
		return "", cli.Usagef("sql: one of --dsn-env NAME and --dsn-file FILE of junction serve says where the database is; elsewhere, use an entry of a configuration with the command junction serve sql")
	case o.dsnEnv != "":
		dsn := p.Getenv(o.dsnEnv)
		if dsn == "" {
			return "", cli.Usagef("sql: the variable %s that --dsn-env names is not set; an entry of a configuration sets it in its env", o.dsnEnv)
		}
		return dsn, nil
	}
	text, err := filename.ReadAtMost(p.Path(o.dsnFile), maxDSNFile)
	if err != nil {
		return "", cli.Usagef("sql: --dsn-file: %w", err)
	}
	dsn := strings.TrimSpace(string(text))
	if dsn == "" || strings.ContainsAny(dsn, "\r\n") {
		return "", cli.Usagef("sql: --dsn-file %s: expected a DSN on one line", o.dsnFile)
	}
	return dsn, nil
}
