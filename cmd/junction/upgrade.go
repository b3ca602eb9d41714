package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/registry"
	"github.com/spf13/cobra"
)

// maxDiffLines is how many lines of the difference of one definition are shown.
const maxDiffLines = 40

func (a *app) upgradeCommand() *cobra.Command {
	var f addFlags
	var check, vulnerable, all bool
	cmd := &cobra.Command{
		Use:   "upgrade [NAME...]",
		Short: "Install newer versions, after showing what changes; --check only lists them",
		Long: `Install the newest version of servers that junction.lock has, or of those that are named. Each
is started once, and what it defines is shown with what you approved, before anything is
changed. What fails leaves the configuration and the lock as they were.

A server that is named and not locked, or whose entry was changed by hand, is locked as its
entry says: npx -y PACKAGE@VERSION, uvx PACKAGE==VERSION, or dnx PACKAGE@VERSION. Its program
stays confined as it was, and one that was never locked is confined from then on.

With --check nothing is changed: locked servers that have a newer version are listed, and those
whose version was pulled or deprecated. With --vulnerable, likewise, known vulnerabilities of
them and of all packages that they need are listed, as commands such as npm audit find them.

` + exitCodes("done, or nothing is newer, or the answer was no", "--vulnerable: some are known", asksOnly, "one could not be upgraded; the others were"),
		ValidArgsFunction: a.suggestLocked,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"yes", "sure", "scripts", "no-sandbox", "timeout"} {
				if (check || vulnerable) && cmd.Flags().Changed(name) {
					return usagef("%s: --%s is about upgrades, and with --check and --vulnerable there are none", cmd.CommandPath(), name)
				}
			}
			switch {
			case check && vulnerable, all && !check, a.flags.json && !check && !vulnerable:
				return usagef("%s: expected --check, with --all and --json as you like, or --vulnerable, with --json", cmd.CommandPath())
			case check:
				return a.outdated(cmd.Context(), args, all)
			case vulnerable:
				return a.auditDeps(cmd.Context(), args)
			}
			return a.upgrade(cmd.Context(), args, f)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "list what is newer, pulled or deprecated, and change nothing")
	cmd.Flags().BoolVar(&vulnerable, "vulnerable", false, "list known vulnerabilities, and change nothing")
	cmd.Flags().BoolVar(&all, "all", false, "with --check: list those that are up to date, too")
	cmd.Flags().BoolVar(&a.flags.json, "json", false, "with --check or --vulnerable: print one object")
	cmd.Flags().BoolVar(&f.sure, "sure", false, "upgrade although something looks harmful")
	cmd.Flags().BoolVar(&f.scripts, "scripts", false, "let the packages run their install scripts, as they cannot be installed without")
	cmd.Flags().BoolVar(&f.noSandbox, "no-sandbox", false, "let the program of a server that was never locked do what you may")
	yesFlag(cmd.Flags(), &f.yes)
	a.configFlags(cmd.Flags())
	cmd.Flags().DurationVar(&a.launch.Timeout, "timeout", 0, "give up after `DURATION` without a response, such as 30s (default 1m; 2m to connect)")
	return cmd
}

func (a *app) upgrade(ctx context.Context, names []string, f addFlags) error {
	set, entries, err := a.servers()
	if err != nil {
		return err
	}
	a.reportProblems(set)
	chosen := entries
	if len(names) > 0 {
		chosen = nil
		for _, name := range names {
			e, err := find(name, set, entries)
			if err != nil {
				return err
			}
			chosen = append(chosen, e)
		}
	}
	failed, seen := false, 0
	var loose []string // that a runner starts, and that were never locked
	refused := a.refusedUpgrades(ctx, chosen, len(names) > 0)
	for _, e := range chosen {
		if e.definition == nil {
			if len(names) > 0 {
				return fmt.Errorf("server %q ships with junction, and is upgraded with it", e.name)
			}
			continue
		}
		if err := refused[e.name]; err != nil {
			failed = true
			a.screen.Printf("junction: %s\n", once(plainText(err)))
			continue
		}
		done, err := a.upgradeOne(ctx, e, f, len(names) > 0)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case done:
			seen++
		case isRun(e.definition.Words()) && !e.isDisabled():
			loose = append(loose, plaintext.Line(e.name, 80))
		}
		if errors.As(err, new(*usageError)) {
			return err
		}
		if err != nil {
			failed = true
			a.screen.Printf("junction: %s\n", once(plainText(err)))
		}
	}
	a.reportLoose(loose, seen > 0 || failed)
	if failed {
		return errReported
	}
	return nil
}

// reportLoose says which servers were never locked, of those whose command line says what could be; others says that there are further ones.
func (a *app) reportLoose(loose []string, others bool) {
	switch {
	case len(loose) > 0:
		a.out.Printf("Started by %s and never locked: %s; junction upgrade NAME installs and locks one, and upgrade keeps it new from then on.\n", fetchers(), strings.Join(loose, ", "))
	case !others:
		a.out.Printf("Nothing is locked, so there is nothing to upgrade; junction upgrade NAME locks a server that is there.\n")
	}
}

// refusedUpgrades is why servers of a project may not be started, by name, before anything that its lock names is asked for or installed. Nobody is
// asked about one that is neither named nor locked, as that is left as it is.
func (a *app) refusedUpgrades(ctx context.Context, chosen []entry, named bool) map[string]error {
	var open []entry
	for _, e := range chosen {
		if _, known := a.lockedAnyhow(e.definition); e.definition != nil && (named || known) {
			open = append(open, e)
		}
	}
	refused := map[string]error{}
	for i, fault := range a.consents(ctx, open, named) {
		refused[open[i].name] = fault
	}
	return refused
}

// lastLocked is what is locked of a server and still what its entry says, and what was locked last, before a hand may have edited the entry.
func (a *app) lastLocked(e entry) (before, last *install.LockedServer, err error) {
	lock, err := a.launch.Locks.Of(e.definition.Source)
	if err != nil {
		return nil, nil, err
	}
	before, mismatch := lock.Find(e.name, e.definition.Words())
	if last = before; mismatch != nil {
		last = lock.Servers[e.name]
	}
	if last == nil { // nothing of a lock is used
		return nil, nil, nil
	}
	return before, last, a.agreedLock(e, last)
}

// upgradeOne upgrades one server; done is false where it is not locked and nobody named it.
func (a *app) upgradeOne(ctx context.Context, e entry, f addFlags, named bool) (done bool, err error) {
	d := e.definition
	before, last, err := a.lastLocked(e)
	if err != nil {
		return true, err
	}
	if last == nil && !named {
		return false, nil
	}
	w := &addition{app: a, flags: f, name: e.name, configuration: filename.Real(d.Source), server: &registry.Server{Name: e.name}, secrets: map[string]string{}}
	if before != nil {
		w.server.Name = before.Name
		w.server.Repository = &registry.Repository{URL: before.Source}
	}
	if w.before, err = os.ReadFile(w.configuration); err != nil {
		return true, err
	}
	if !launch.IsProgram(d.Kind) { // what it defines now is locked
		w.written.URL = d.Words()[0]
		return true, w.replace(ctx, d, before, func(data []byte) ([]byte, error) { return data, nil })
	}
	words, p, err := w.wanted(d, before)
	if err != nil {
		return true, err
	}
	w.pkg = &registry.Package{RegistryType: p.Type, Identifier: p.Name, Version: p.Version}
	if err := w.keepConfined(e, last, len(words)); err != nil {
		return true, err
	}
	store, err := a.launch.Locks.Store()
	if err != nil {
		return true, err
	}
	if err := w.resolve(ctx, store, p); err != nil {
		return true, fmt.Errorf("server %q: %w", e.name, err)
	}
	if before != nil && before.Package != nil && w.locked.IsContainer() {
		w.locked.SetOptions(before.Package.Options())
	}
	if before != nil && before.Package != nil && before.Package.Version == w.locked.Version && before.Package.Integrity == w.locked.Integrity {
		a.out.Printf("%s %s is the newest.\n", e.name, plaintext.Line(w.locked.Version, 60))
		return true, nil
	}
	if before != nil && before.Package != nil && before.Package.Version == w.locked.Version {
		return true, fmt.Errorf("server %q: %s %s %w: %s was locked, and its registry has %s now; nothing was changed", e.name, p.Name, w.locked.Version, install.ErrIntegrity, before.Package.Integrity, w.locked.Integrity)
	}
	if err := w.fetch(ctx, store); err != nil {
		return true, fmt.Errorf("server %q: %w", e.name, err)
	}
	now := install.CommandLine(e.name, w.locked)
	edit := func(data []byte) ([]byte, error) { return hostconfig.ReplaceWords(data, e.name, words, now) }
	return true, w.replace(ctx, d, before, edit)
}

// wanted is the package that a server is to be upgraded to, and the words of its entry that stand for it.
func (w *addition) wanted(d *config.Definition, before *install.LockedServer) (words []string, p install.Package, err error) {
	if before != nil && before.Package != nil {
		p = before.Package.Package
		if runner.Of(p.Type).Sign != "" {
			p.Version = ""
		}
		p.Scripts = p.Scripts || w.flags.scripts
		return before.Replaces, p, nil
	}
	p, n := packageOfWords(d.Words())
	switch {
	case n == 0 && isRun(d.Words()):
		return nil, p, fmt.Errorf("server %q: %s does not say which version of which package is to be locked; write %s as junction upgrade --help has it, without a range or other options, and it can be locked", w.name, d, d.Words()[0])
	case n == 0:
		return nil, p, fmt.Errorf("server %q: %s is no command line of %s, so it is not known which package it is; junction remove and junction add make an entry that is locked", w.name, d, fetchers())
	}
	p.Scripts = w.flags.scripts
	return d.Words()[:n], p, nil
}

// replace starts what the server becomes, shows the difference, and writes it if the person agrees.
func (w *addition) replace(ctx context.Context, d *config.Definition, before *install.LockedServer, edit func([]byte) ([]byte, error)) error {
	data, err := edit(w.before)
	if err != nil {
		return fmt.Errorf("%s: %w", w.configuration, err)
	}
	defer func() { w.dry.close() }()
	if err := w.rehearseWith(ctx, data); err != nil {
		return err
	}
	if err := w.showChange(before); err != nil {
		return err
	}
	if agreed, err := w.agreed(ctx, "Change it? [y]es, [N]o > "); err != nil || !agreed {
		return err
	}
	locked := w.lockedServer()
	if before != nil {
		locked.Name, locked.Registry = before.Name, before.Registry
	}
	if err := w.keep(ctx, d.Words(), locked, edit); err != nil {
		return err
	}
	if w.locked != nil {
		w.app.out.Printf("%s is %s now.\n", w.name, plaintext.Line(w.locked.Version, 60))
	} else {
		w.app.out.Printf("%s is locked as it is now.\n", w.name)
	}
	return nil
}

// approvedOf is what is approved of a server.
func approvedOf(name string) ([]guard.Definition, error) {
	p, err := pins()
	if err != nil {
		return nil, err
	}
	return p.Approved(name), nil
}

// showChange shows what the upgrade changes: version, dependencies and definitions.
func (w *addition) showChange(before *install.LockedServer) error {
	out := w.app.out
	switch {
	case w.locked == nil:
		out.Printf("%s at %s\n", w.name, plaintext.Line(w.written.URL, 300))
	case before == nil || before.Package == nil:
		out.Printf("%s is locked: %s %s %s\n", w.name, w.locked.Type, plaintext.Line(w.locked.Name, 200), plaintext.Line(w.locked.Version, 60))
	default:
		out.Printf("%s %s becomes %s (%s %s)\n", w.name, plaintext.Line(before.Package.Version, 60), plaintext.Line(w.locked.Version, 60), w.locked.Type, plaintext.Line(w.locked.Name, 200))
	}
	if w.locked != nil && len(w.locked.WantScripts) > 0 && !w.locked.Scripts {
		out.Printf("  install scripts that did not run: %s\n", plaintext.Line(strings.Join(w.locked.WantScripts, ", "), maxReason))
	}
	if w.locked != nil {
		out.Printf("  its program %s\n", whole(w.confinement()))
	}
	for _, note := range w.notes {
		out.Printf("  %s\n", note)
	}
	approved, err := approvedOf(w.name)
	if err != nil {
		return err
	}
	w.showDefinitions(approved)
	for _, line := range w.warnings() {
		out.Printf("  WARNING: %s\n", plaintext.Line(line, maxReason))
	}
	return nil
}

// showDefinitions shows how definitions differ from those that were approved.
func (w *addition) showDefinitions(approved []guard.Definition) {
	out := w.app.out
	old := map[string]guard.Definition{}
	for _, d := range approved {
		if d.Kind != guard.Command {
			old[definitionKey(d)] = d
		}
	}
	same := 0
	for _, d := range w.dry.definitions {
		if d.Kind == guard.Command {
			continue
		}
		key := definitionKey(d)
		was, known := old[key]
		delete(old, key)
		switch {
		case !known:
			out.Printf("  new      %s\n", plaintext.Line(key, 200))
		case was.Hash() == d.Hash():
			same++
		default:
			out.Printf("  changed  %s\n", plaintext.Line(key, 200))
			lines := strings.Split(strings.TrimRight(guard.Diff(was, d), "\n"), "\n")
			for _, line := range lines[:min(len(lines), maxDiffLines)] {
				out.Printf("             %s\n", plaintext.Unbroken(line))
			}
			if more := len(lines) - maxDiffLines; more > 0 {
				out.Printf("             (%d more lines)\n", more)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		out.Printf("  gone     %s\n", plaintext.Line(key, 200))
	}
	if same == 1 {
		out.Printf("  1 definition is as it was approved\n")
	} else {
		out.Printf("  %d definitions are as they were approved\n", same)
	}
}

// isRun reports whether a command line is one of a program that fetches a package and starts it.
func isRun(words []string) bool { return len(words) > 0 && runner.Fetching(words[0]).Type != "" }

// fetchers names these programs.
func fetchers() string {
	var names []string
	for _, k := range runner.Kinds() {
		if k.Start != nil && !k.IsContainer {
			names = append(names, k.Start[0])
		}
	}
	return runner.Or(names, " or ")
}

// packageOfWords is the package that a command line starts, and how many words say so; 0 if it starts none.
func packageOfWords(words []string) (install.Package, int) {
	p, n := runner.PackageOf(words)
	return install.Package{Type: p.Kind, Name: p.Name, Version: p.Version, Bin: p.Program, With: p.With}, n
}
