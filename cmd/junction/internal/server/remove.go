package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// RemoveCommand returns the command server remove.
func RemoveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove SERVER…",
		Short: "Undo add: remove servers from the configuration, its lock and the cache",
		Long: `Remove the entries of servers from the files that define them, and from junction.lock next to
these files. Approvals of the servers are deleted, and so are packages in the cache that no
lock has any longer. The rest of the files stays as it is. Secrets and settings are kept; remove
lists those of the server, and the connected hosts that used it through junction.
It asks no questions: junction server add adds a server again.

` + cli.ExitCodes("done", "", "", "no such server, or a file cannot be changed"),
		ValidArgsFunction: suggestLocked(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("%s: NAME is missing; junction list shows the servers", cmd.CommandPath())
			}
			return remove(cmd.Context(), a, args)
		},
	}
	reach.ConfigFlags(a, cmd.Flags())
	cmd.Flags().BoolP("yes", "y", false, "accepted and ignored: remove asks nothing")
	return cmd
}

// remove removes servers from the configuration and the locks. It then removes packages that no
// lock needs from the cache.
func remove(ctx context.Context, a *cli.App, names []string) error {
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return err
	}
	var named []launch.Entry // all must be found before the first is removed
	for _, name := range names {
		e, err := reach.Find(name, set, entries)
		if err != nil {
			return err
		}
		if e.Definition == nil {
			return fmt.Errorf("server %q ships with junction and has no entry to remove", name)
		}
		if !slices.ContainsFunc(named, func(one launch.Entry) bool { return one.Name == e.Name }) {
			named = append(named, e)
		}
	}
	s, from, err := a.Launch.QuietSettings(set)
	if err != nil {
		s = &settings.Settings{} // other commands report the error
	}
	for _, e := range named {
		if err := removeOne(ctx, a, e); err != nil {
			return err
		}
		if _, has := s.Servers[e.Name]; has {
			a.Out.Printf("Its settings stay in %s: servers.%s of \"junction\"\n", a.Short(from), plaintext.Line(e.Name, 80))
		}
	}
	if len(named) == len(set.Servers) {
		reach.ShowKept(a)
	}
	keep, err := inUse(&a.Launch.Locks)
	if err != nil {
		return err
	}
	store, err := a.Launch.Locks.Store()
	if err != nil {
		return err
	}
	freed, err := store.Prune(ctx, keep, 0)
	if err != nil {
		return fmt.Errorf("the configuration was changed, but the cache could not be cleared: %w", err)
	}
	if freed > 0 {
		a.Out.Printf("The cache is %s smaller.\n", show.Size(freed))
	}
	return nil
}

// removeOne removes the entry of a server, its lock and its approvals.
func removeOne(ctx context.Context, a *cli.App, e launch.Entry) error {
	path := a.Real(e.Definition.Source)
	edit := func(data []byte) ([]byte, error) { return hostconfig.RemoveServer(data, e.Name) }
	change := install.Change{Configuration: path, Name: e.Name, Words: e.Definition.Words(), Edit: edit}
	if err := a.Launch.Locks.Change(ctx, change); err != nil {
		return err
	}
	p, err := cli.Pins(a.Place)
	if err != nil {
		return err
	}
	if slices.Contains(p.Servers(), e.Name) {
		p.Forget(e.Name)
		if err := p.Save(); err != nil {
			return err
		}
	}
	a.Out.Printf("Removed %q from %s.\n", e.Name, a.Short(path))
	reach.WarnConnected(a, path, e.Name)
	for _, variable := range e.Definition.Variables() {
		if name, is := strings.CutPrefix(variable, "secret:"); is {
			a.Out.Printf("Its secret %s is still kept: junction secret remove %s\n", name, plaintext.ShellWord(name))
		}
	}
	return nil
}

// inUse returns the packages in all known locks of the user.
func inUse(locks *launch.Locks) (keep []*install.Locked, err error) {
	list, err := locks.Known()
	if err != nil {
		return nil, err
	}
	paths, err := list.All()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		lock, err := install.ReadLock(path)
		if err != nil {
			return nil, err // the unreadable lock may need any package
		}
		for _, s := range lock.Servers {
			for ; s != nil; s = s.Next {
				if s.Package != nil {
					keep = append(keep, s.Package)
				}
			}
		}
	}
	return keep, nil
}
