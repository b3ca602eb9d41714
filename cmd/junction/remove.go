package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

func removeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove SERVER…",
		Short: "Undo add: remove servers from the configuration, its lock and the cache",
		Long: `Take the entries of servers out of the files that define them, and out of junction.lock next to
those; what was approved of them is forgotten, and packages that no lock has any more are
removed from the cache. The rest of the files stays as it is. Secrets stay kept: those that
an entry names are said, and so is which connected host had the server through junction.
Nothing is asked: junction server add adds a server again.

` + exitCodes("done", "", "", "no such server, or a file cannot be changed"),
		ValidArgsFunction: suggestLocked(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s: NAME is missing; junction list shows which servers there are", cmd.CommandPath())
			}
			return remove(cmd.Context(), a, args)
		},
	}
	configFlags(a, cmd.Flags())
	return cmd
}

func remove(ctx context.Context, a *app, names []string) error {
	set, entries, err := configuredServers(a)
	if err != nil {
		return err
	}
	var named []entry // all are found before one is removed
	for _, name := range names {
		e, err := find(name, set, entries)
		if err != nil {
			return err
		}
		if e.definition == nil {
			return fmt.Errorf("server %q ships with junction; there is no entry to remove", name)
		}
		if !slices.ContainsFunc(named, func(one entry) bool { return one.name == e.name }) {
			named = append(named, e)
		}
	}
	for _, e := range named {
		if err := removeOne(ctx, a, e); err != nil {
			return err
		}
	}
	keep, err := inUse(&a.launch.Locks)
	if err != nil {
		return err
	}
	store, err := a.launch.Locks.Store()
	if err != nil {
		return err
	}
	freed, err := store.Prune(ctx, keep, 0)
	if err != nil {
		return fmt.Errorf("the configuration is changed, and the cache could not be cleared: %w", err)
	}
	if freed > 0 {
		a.out.Printf("The cache is %s smaller.\n", show.Size(freed))
	}
	return nil
}

// removeOne removes an entry. Its lock is changed where there is one.
func removeOne(ctx context.Context, a *app, e entry) error {
	path := a.Real(e.definition.Source)
	edit := func(data []byte) ([]byte, error) { return hostconfig.RemoveServer(data, e.name) }
	change := install.Change{Configuration: path, Name: e.name, Words: e.definition.Words(), Edit: edit}
	if err := a.launch.Locks.Change(ctx, change); err != nil {
		return err
	}
	p, err := pins(a.Place)
	if err != nil {
		return err
	}
	if slices.Contains(p.Servers(), e.name) {
		p.Forget(e.name)
		if err := p.Save(); err != nil {
			return err
		}
	}
	a.out.Printf("Removed %q from %s.\n", e.name, a.Short(path))
	warnConnected(a, path, e.name)
	for _, variable := range e.definition.Variables() {
		if name, is := strings.CutPrefix(variable, "secret:"); is {
			a.out.Printf("Its secret %s is still kept: junction secret remove %s\n", name, plaintext.ShellWord(name))
		}
	}
	return nil
}

// inUse are all packages that some lock of this person has.
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
			return nil, err // nothing is removed that it may need
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
