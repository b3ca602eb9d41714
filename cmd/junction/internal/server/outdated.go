package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// A lockedEntry is a configured server with its lock.
type lockedEntry struct {
	launch.Entry
	locked *install.LockedServer
}

// lockedEntries returns the locked servers, or those with the given names. It prints the errors of
// invalid locks, and failed reports whether there were any.
func lockedEntries(a *cli.App, names []string) (all []lockedEntry, failed bool, err error) {
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return nil, false, err
	}
	reach.ReportProblems(a, set)
	for _, e := range entries {
		if len(names) > 0 && !slices.Contains(names, e.Name) || e.Definition == nil {
			continue
		}
		locked, err := a.Launch.Locked(e.Definition)
		if err != nil {
			failed = true
			a.Screen.Printf("junction: %s\n", why.Once(why.Text(err)))
		}
		if locked != nil {
			all = append(all, lockedEntry{e, locked})
		}
	}
	for _, name := range names {
		if !failed && !slices.ContainsFunc(all, func(l lockedEntry) bool { return l.Name == name }) {
			if _, err := reach.Find(name, set, entries); err != nil {
				return nil, false, err
			}
			return nil, false, fmt.Errorf("server %q is not locked; junction server upgrade %s locks it", name, plaintext.ShellWord(name))
		}
	}
	return all, failed, nil
}

// eachLocked calls look for the package of each locked server to which the user consented. names
// restricts the servers. doing is shown during each call. servers is the number of locked servers
// to which the user consented, and failed reports whether there were errors.
func eachLocked(ctx context.Context, a *cli.App, names []string, doing string, look func(launch.Packages, lockedEntry, *install.Locked) bool) (servers int, failed bool, err error) {
	locked, failed, err := lockedEntries(a, names)
	if err != nil {
		return 0, failed, err
	}
	store, err := a.Launch.Locks.Store()
	if err != nil {
		return 0, failed, err
	}
	agreed, refused := agreedPackages(ctx, a, locked, len(names) > 0)
	failed = failed || refused > 0
	for _, l := range agreed {
		done := busy(a, doing+l.Name)
		failed = !look(store, l, l.locked.Package) || failed
		done()
		if ctx.Err() != nil {
			return 0, failed, context.Cause(ctx)
		}
	}
	return len(locked) - refused, failed, nil
}

// suggestLocked returns a completion function for any number of server names.
func suggestLocked(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		names, directive := reach.SuggestServers(a)(cmd, nil, typed)
		return slices.DeleteFunc(names, func(line string) bool {
			name, _, _ := strings.Cut(line, "\t")
			return slices.Contains(args, name)
		}), directive
	}
}

// OutdatedCommand returns the command outdated, an old name of server upgrade --check.
func OutdatedCommand(a *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "outdated [SERVER…]",
		Short: "List locked servers that have newer versions, or were withdrawn",
		Long: `Ask the package registries about the servers in junction.lock. List those that have a newer
version, and those whose version was withdrawn or deprecated. junction server upgrade changes
them. For a project's file junction asks you first, as it does before it installs its servers;
--config FILE agrees to it.

` + cli.ExitCodes("done, with or without results", "", "", "a registry could not be asked; the others were"),
		ValidArgsFunction: suggestLocked(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return outdated(cmd.Context(), a, args, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "list those that are up to date, too")
	a.JSONFlag(cmd, cli.ServersShown[add.Outdated]{})
	reach.ConfigFlags(a, cmd.Flags())
	return cmd
}

// outdated prints the locked servers whose versions are outdated, pulled or deprecated. With all it
// prints the other locked servers, too.
func outdated(ctx context.Context, a *cli.App, names []string, all bool) error {
	var list []add.Outdated
	locked, failed, err := eachLocked(ctx, a, names, "asking about ", func(store launch.Packages, l lockedEntry, p *install.Locked) bool {
		one, err := add.Compare(ctx, store, l.Name, p)
		if all || !one.IsCurrent() {
			list = append(list, one)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := showOutdated(a, list, locked, failed); err != nil {
		return err
	}
	if failed {
		return cli.ErrReported
	}
	return nil
}

// showOutdated prints the result of outdated.
func showOutdated(a *cli.App, list []add.Outdated, locked int, failed bool) error {
	if a.Flags.JSON {
		return a.PrintJSON(cli.ServersShown[add.Outdated]{Servers: list})
	}
	switch {
	case locked == 0 && failed:
		return nil
	case locked == 0:
		a.Out.Printf("No server is locked. junction server add locks what it adds; junction server upgrade NAME locks an existing server.\n")
		return nil
	case len(list) == 0:
		a.Out.Printf("%s: no newer version.\n", plaintext.Count(locked, "locked server"))
		return nil
	}
	rows := [][]string{{"server", "package", "locked", "newest", ""}}
	for _, o := range list {
		note := ""
		switch {
		case o.Error != "":
			note = "not known: " + o.Error
		case o.Pulled:
			note = "WITHDRAWN by its author or registry"
		case o.Deprecated != "":
			note = "deprecated: " + o.Deprecated
		}
		rows = append(rows, []string{o.Server, o.Package, o.Locked, o.Newest, note})
	}
	a.Out.Printf("%s", a.Table(rows, 0))
	return nil
}

// InstallCommand returns the command install.
func InstallCommand(a *cli.App) *cobra.Command {
	var scripts bool
	cmd := &cobra.Command{
		Use:   "install [SERVER…]",
		Short: "Install exactly the servers in junction.lock",
		Long: `Install the servers in junction.lock, or those that you name: exactly these bytes, which are
checked. An entry of the configuration that differs from the lock is an error. Use it on a
new machine, such as one of CI; junction up --frozen then starts only installed programs.

` + cli.ExitCodes("all is installed", "", "", "something is not"),
		ValidArgsFunction: suggestLocked(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return installAll(cmd.Context(), a, args, scripts) },
	}
	cmd.Flags().BoolVar(&scripts, "scripts", false, "let packages run their install scripts if a project's lock asks for it")
	reach.ConfigFlags(a, cmd.Flags())
	return cmd
}

// agreedPackages returns the locked servers with a package to which the user consented. Consent is
// needed because the author of a project decides which packages its lock installs, and which
// registries are asked. agreedPackages prints a line for each refused server.
func agreedPackages(ctx context.Context, a *cli.App, locked []lockedEntry, named bool) (agreed []lockedEntry, refused int) {
	locked = slices.DeleteFunc(slices.Clone(locked), func(l lockedEntry) bool { return l.locked.Package == nil })
	var entries []launch.Entry
	for _, l := range locked {
		entries = append(entries, l.Entry)
	}
	for i, fault := range a.Launch.Consents(ctx, entries, named) {
		if fault == nil {
			fault = a.Launch.CheckLock(entries[i], locked[i].locked)
		}
		if fault == nil {
			agreed = append(agreed, locked[i])
			continue
		}
		refused++
		a.Screen.Printf("junction: %s\n", why.Once(why.Text(fault)))
	}
	return agreed, refused
}

// installAll installs the packages of locked servers.
func installAll(ctx context.Context, a *cli.App, names []string, scripts bool) error {
	installed := 0
	_, failed, err := eachLocked(ctx, a, names, "installing ", func(store launch.Packages, l lockedEntry, p *install.Locked) bool {
		err := a.Launch.Locks.Note(l.Definition.Source)
		was := "is there"
		if err == nil {
			_, err = store.Open(p)
		}
		switch isMissing := errors.Is(err, install.ErrNotInstalled); {
		case isMissing && p.Scripts && !scripts && l.OfProject(): // others wrote the lock of a project
			a.Screen.Printf("junction: server %q is not installed: %s lets its package run install scripts; --scripts allows that\n", l.Name, a.Short(install.LockPath(l.Definition.Source)))
			return false
		case isMissing:
			was = "is installed"
			_, err = store.Install(ctx, p)
		}
		if err != nil {
			if ctx.Err() == nil {
				a.Screen.Printf("junction: server %q: %s\n", l.Name, why.Once(why.Text(err)))
			}
			return false
		}
		installed++
		a.Out.Printf("%s: %s %s %s\n", l.Name, p.Type+":"+plaintext.Line(p.Name, 200), plaintext.Line(p.Version, 60), was)
		return true
	})
	if err != nil {
		return err
	}
	if failed {
		return cli.ErrReported
	}
	if installed == 0 {
		a.Out.Printf("No server here has a locked package.\n")
	}
	return nil
}
