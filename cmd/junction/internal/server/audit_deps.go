package server

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// AuditDepsCommand returns the command audit-deps, an old name of server upgrade --vulnerable.
func AuditDepsCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit-deps [SERVER…]",
		Short: "List known vulnerabilities of locked servers and of their packages",
		Long: `Ask the package managers' own commands, such as npm audit, for known vulnerabilities of the
servers in junction.lock, and of all packages that they need. For a project's file junction asks
you first, as it does before it installs its servers; --config FILE agrees to it.

` + cli.ExitCodes("none is known", "some are", "", "some could not be audited; the rest have no known vulnerabilities"),
		ValidArgsFunction: suggestLocked(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return auditDeps(cmd.Context(), a, args) },
	}
	a.JSONFlag(cmd, cli.ServersShown[add.Audited]{})
	reach.ConfigFlags(a, cmd.Flags())
	return cmd
}

// auditDeps prints the known vulnerabilities of locked servers. It returns [cli.ErrToolFailed] if
// there are any.
func auditDeps(ctx context.Context, a *cli.App, names []string) error {
	var all []add.Audited
	found, unknown := 0, 0
	_, failed, err := eachLocked(ctx, a, names, "auditing ", func(store launch.Packages, l lockedEntry, p *install.Locked) bool {
		one, err := add.Audit(ctx, store, l.Name, p)
		if err != nil {
			unknown++
		}
		found += len(one.Vulnerabilities)
		all = append(all, one)
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := showAudited(a, all, found, unknown); err != nil {
		return err
	}
	switch {
	case found > 0:
		return cli.ErrToolFailed
	case failed:
		return cli.ErrReported
	}
	return nil
}

// showAudited prints vulnerabilities. found is their number, and unknown the number of servers that
// could not be audited.
func showAudited(a *cli.App, all []add.Audited, found, unknown int) error {
	if a.Flags.JSON {
		return a.PrintJSON(cli.ServersShown[add.Audited]{Servers: all})
	}
	var rows [][]string
	for _, s := range all {
		if s.Error != "" {
			a.Screen.Printf("junction: server %q: %s\n", s.Server, plaintext.Line(s.Error, cli.MaxReason))
		}
		slices.SortStableFunc(s.Vulnerabilities, func(a, b install.Vulnerability) int { return cmp.Compare(a.Package, b.Package) })
		for _, v := range s.Vulnerabilities {
			fixed := "no fix is known"
			if v.FixedIn != "" {
				fixed = "fixed in " + v.FixedIn
			}
			rows = append(rows, []string{s.Server, strings.TrimSpace(v.Package + " " + v.Version), v.Severity, v.ID, v.Title + " (" + fixed + ")"})
		}
	}
	a.Out.Printf("%s", a.Table(rows, 0))
	a.Out.Printf("%s of %s", plaintext.Count(found, "known problem"), plaintext.Count(len(all)-unknown, "locked package"))
	if unknown > 0 {
		a.Out.Printf("; %d could not be audited", unknown)
	}
	a.Out.Printf(".\n")
	return nil
}
