package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// UpgradeCommand returns the command server upgrade.
func UpgradeCommand(a *cli.App) *cobra.Command {
	var o add.Options
	var check, vulnerable, all bool
	cmd := &cobra.Command{
		Use:   "upgrade [SERVER…]",
		Short: "Install newer versions, after showing what changes; --check only lists them",
		Long: `Install the newest version of the servers in junction.lock, or of those that you name. Each is
started once, and its definitions are shown next to the approved ones, before anything changes.
If that fails, the configuration and the lock stay as they were.

A named server that is not locked, or whose entry was changed by hand, is locked as in its
entry: npx -y PACKAGE@VERSION, uvx PACKAGE==VERSION, or dnx PACKAGE@VERSION. A locked program
keeps its profile, and one that was never locked is confined from then on.

--check only lists locked servers that have a newer version, or whose version was withdrawn or
deprecated. --vulnerable only lists known vulnerabilities of the servers and of all packages
that they need. It asks commands such as npm audit.

` + cli.ExitCodes("done, nothing to upgrade, or the answer was no", "--vulnerable: some are known", cli.NoTerminalHelp, "one could not be upgraded; the others were"),
		ValidArgsFunction: suggestLocked(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"yes", "sure", "scripts", "no-sandbox", "timeout"} {
				if (check || vulnerable) && cmd.Flags().Changed(name) {
					return cli.Usagef("%s: --%s does not go with --check and --vulnerable, which upgrade nothing", cmd.CommandPath(), name)
				}
			}
			switch {
			case check && vulnerable, all && !check, a.Flags.JSON && !check && !vulnerable:
				return cli.Usagef("%s: expected --check, with --all and --json as you like, or --vulnerable, with --json", cmd.CommandPath())
			case check:
				return outdated(cmd.Context(), a, args, all)
			case vulnerable:
				return auditDeps(cmd.Context(), a, args)
			}
			return upgrade(cmd.Context(), a, args, o)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "list newer, withdrawn and deprecated versions, and change nothing")
	cmd.Flags().BoolVar(&vulnerable, "vulnerable", false, "list known vulnerabilities, and change nothing")
	cmd.Flags().BoolVar(&all, "all", false, "with --check: list those that are up to date, too")
	a.JSONFlag(cmd, cli.ServersShown[add.Outdated]{}, cli.ServersShown[add.Audited]{}) // for --check and for --vulnerable
	cmd.Flags().BoolVar(&o.Sure, "sure", false, "upgrade in spite of findings that look harmful")
	cmd.Flags().BoolVar(&o.Scripts, "scripts", false, "let packages run their install scripts, if they cannot be installed without them")
	cmd.Flags().BoolVar(&o.NoSandbox, "no-sandbox", false, "do not confine the program of a server that was never locked")
	yesFlag(cmd.Flags(), &o.Yes)
	reach.ConfigFlags(a, cmd.Flags())
	cmd.Flags().DurationVar(&a.Launch.Timeout, "timeout", 0, "give up after `DURATION` without a response, such as 30s (default 1m; 2m to connect)")
	return cmd
}

// upgrade upgrades the locked servers, or those with the given names. It continues with the next
// server after an error.
func upgrade(ctx context.Context, a *cli.App, names []string, o add.Options) error {
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return err
	}
	reach.ReportProblems(a, set)
	chosen := entries
	if len(names) > 0 {
		chosen = nil
		for _, name := range names {
			e, err := reach.Find(name, set, entries)
			if err != nil {
				return err
			}
			chosen = append(chosen, e)
		}
	}
	failed, seen := false, 0
	var loose []string // servers that a runner starts and that were never locked
	adder := adder(a)
	adder.Configured = func() (c add.Configured, err error) {
		c.Settings, _, err = a.Launch.QuietSettings(set)
		return c, err
	}
	refused := refusedUpgrades(ctx, a, chosen, len(names) > 0)
	for _, e := range chosen {
		if e.Definition == nil {
			if len(names) > 0 {
				return fmt.Errorf("server %q ships with junction, and is upgraded with it", e.Name)
			}
			continue
		}
		if err := refused[e.Name]; err != nil {
			failed = true
			a.Screen.Printf("junction: %s\n", why.Once(why.Text(err)))
			continue
		}
		u, err := adder.Upgrade(ctx, e.Definition, len(names) > 0, o)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case err != nil || u.Outcome != add.NotLocked:
			seen++
		case runner.Fetches(e.Definition.Words()) && !e.IsDisabled():
			loose = append(loose, plaintext.Line(e.Name, 80))
		}
		if errors.As(err, new(*cli.UsageError)) {
			return err
		}
		if err != nil {
			failed = true
			a.Screen.Printf("junction: %s\n", why.Once(why.Text(err)))
		}
		switch version := plaintext.Line(u.Version, 60); {
		case u.Outcome == add.Newest:
			a.Out.Printf("%s: %s is the newest version.\n", e.Name, version)
		case u.Outcome == add.Changed && version != "":
			a.Out.Printf("%s: upgraded to %s.\n", e.Name, version)
		case u.Outcome == add.Changed:
			a.Out.Printf("%s: locked in its present version.\n", e.Name)
		}
	}
	reportLoose(a, loose, seen > 0 || failed)
	if failed {
		return cli.ErrReported
	}
	return nil
}

// reportLoose prints the servers that a runner starts and that were never locked. others reports
// whether there are other servers.
func reportLoose(a *cli.App, loose []string, others bool) {
	switch {
	case len(loose) > 0:
		a.Out.Printf("Started by %s and never locked: %s; junction server upgrade NAME installs and locks one, and later upgrades include it.\n", runner.Fetchers(), strings.Join(loose, ", "))
	case !others:
		a.Out.Printf("Nothing is locked, so there is nothing to upgrade; junction server upgrade NAME locks an existing server.\n")
	}
}

// refusedUpgrades returns the reasons why servers of a project may not be started, by name. It asks
// for consent before upgrade uses their locks. It ignores a server that is neither named nor
// locked, because upgrade does not change it.
func refusedUpgrades(ctx context.Context, a *cli.App, chosen []launch.Entry, named bool) map[string]error {
	var open []launch.Entry
	for _, e := range chosen {
		if _, known := a.Launch.FindLock(e.Definition); e.Definition != nil && (named || known) {
			open = append(open, e)
		}
	}
	refused := map[string]error{}
	for i, fault := range a.Launch.Consents(ctx, open, named) {
		refused[open[i].Name] = fault
	}
	return refused
}
