package add

import (
	"context"
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
)

// maxDiffLines is the number of lines shown of one definition's diff.
const maxDiffLines = 40

// An Upgraded is the result of an upgrade of a server.
type Upgraded struct {
	Outcome Outcome
	Version string // locked version of the package; empty if there is none
}

// An Outcome is the outcome of an upgrade.
type Outcome int

// Outcomes of an upgrade.
const (
	NotLocked Outcome = iota // the server is not locked, and the user did not name it
	Newest                   // there is no newer version
	Declined                 // the user did not agree
	Changed                  // the server was locked again
)

// Upgrade installs the newest version of a configured server, and locks it if the user agrees to
// the differences. A server without a lock stays unchanged, unless the user named it. It is then
// locked according to its entry. If there is an error, nothing has changed.
func (a *Adder) Upgrade(ctx context.Context, d *config.Definition, named bool, o Options) (u Upgraded, err error) {
	before, last, err := a.lastLocked(d)
	if err != nil {
		return u, err
	}
	if last == nil && !named {
		return u, nil
	}
	w := &addition{Adder: a, Options: o, name: d.Name, configuration: filename.Real(d.Source), server: &registry.Server{Name: d.Name}, secrets: map[string]string{}}
	if before != nil {
		w.server.Name = before.Name
		w.server.Repository = &registry.Repository{URL: before.Source}
	}
	if w.before, err = os.ReadFile(w.configuration); err != nil {
		return u, err
	}
	if !launch.IsProgram(d.Kind) { // a server with a URL: lock its current definitions
		w.written.URL = d.Words()[0]
		return w.replace(ctx, d, before, func(data []byte) ([]byte, error) { return data, nil })
	}
	words, p, err := w.wanted(d, before)
	if err != nil {
		return u, err
	}
	w.pkg = &registry.Package{RegistryType: p.Type, Identifier: p.Name, Version: p.Version}
	if err := w.keepConfined(d, last, len(words)); err != nil {
		return u, err
	}
	store, err := a.Launcher.Locks.Store()
	if err != nil {
		return u, err
	}
	if err := w.resolve(ctx, store, p); err != nil {
		return u, fmt.Errorf("server %q: %w", d.Name, err)
	}
	if before != nil && before.Package != nil && w.locked.IsContainer() {
		w.locked.SetOptions(before.Package.Options())
	}
	if before != nil && before.Package != nil && before.Package.Version == w.locked.Version && before.Package.Integrity == w.locked.Integrity {
		return Upgraded{Newest, w.locked.Version}, nil
	}
	// A package in its own folder is the user's own, so its bytes may change.
	if before != nil && before.Package != nil && before.Package.Version == w.locked.Version && !runner.Of(w.locked.Type).InPlace {
		return u, fmt.Errorf("server %q: %s %s %w: %s was locked, and its registry now has %s; nothing was changed", d.Name, p.Name, w.locked.Version, install.ErrIntegrity, before.Package.Integrity, w.locked.Integrity)
	}
	if err := w.fetch(ctx, store); err != nil {
		return u, fmt.Errorf("server %q: %w", d.Name, err)
	}
	now := install.CommandLine(d.Name, w.locked)
	edit := func(data []byte) ([]byte, error) { return hostconfig.ReplaceWords(data, d.Name, words, now) }
	return w.replace(ctx, d, before, edit)
}

// lastLocked returns the locked data of a server, or nil if the entry no longer matches it. last is
// the locked data even if the entry was edited since.
func (a *Adder) lastLocked(d *config.Definition) (before, last *install.LockedServer, err error) {
	lock, err := a.Launcher.Locks.Of(d.Source)
	if err != nil {
		return nil, nil, err
	}
	before, mismatch := lock.Find(d.Name, d.Words())
	if last = before; mismatch != nil {
		last = lock.Servers[d.Name]
	}
	if last != nil {
		err = a.Launcher.CheckLock(launch.Entry{Name: d.Name, Definition: d}, last)
	}
	return before, last, err
}

// wanted returns the package of an upgraded server, and the words of the entry that name it.
func (w *addition) wanted(d *config.Definition, before *install.LockedServer) (words []string, p install.Package, err error) {
	if before != nil && before.Package != nil {
		p = before.Package.Package
		if runner.Of(p.Type).Sign != "" {
			p.Version = ""
		}
		p.Scripts = p.Scripts || w.Scripts
		return before.Replaces, p, nil
	}
	p, n := packageOfWords(d.Words())
	switch {
	case n == 0 && runner.Fetches(d.Words()):
		return nil, p, fmt.Errorf("server %q: %s does not name the exact version and package to lock; write %s as in junction server upgrade --help, without a range or other options", w.name, d, d.Words()[0])
	case n == 0:
		return nil, p, fmt.Errorf("server %q: %s is not a command line of %s, so its package is not known; to lock it, use junction server remove, then junction server add", w.name, d, runner.Fetchers())
	}
	p.Scripts = w.Scripts
	return d.Words()[:n], p, nil
}

// replace starts the upgraded server, shows the differences, and writes the change if the user
// agrees.
func (w *addition) replace(ctx context.Context, d *config.Definition, before *install.LockedServer, edit func([]byte) ([]byte, error)) (u Upgraded, err error) {
	data, err := edit(w.before)
	if err != nil {
		return u, fmt.Errorf("%s: %w", w.configuration, err)
	}
	defer func() { w.dry.close() }()
	if err := w.rehearseWith(ctx, data); err != nil {
		return u, err
	}
	if err := w.showChange(before); err != nil {
		return u, err
	}
	u.Outcome = Declined
	if agreed, err := w.askConsent(ctx, "Change it?", []launch.Choice{yes}); err != nil || !agreed {
		return u, err
	}
	locked := w.lockedServer()
	if before != nil {
		locked.Name, locked.Registry = before.Name, before.Registry
	}
	if err := w.keep(ctx, d.Words(), locked, edit); err != nil {
		return u, err
	}
	u.Outcome = Changed
	if w.locked != nil {
		u.Version = w.locked.Version
	}
	return u, nil
}

// showChange shows the differences between the versions: the package, its dependencies and its
// definitions.
func (w *addition) showChange(before *install.LockedServer) error {
	var card launch.Card
	line := func(format string, args ...any) { card.Lines = append(card.Lines, fmt.Sprintf(format, args...)) }
	switch {
	case w.locked == nil:
		card.Title = fmt.Sprintf("%s at %s", w.name, plaintext.Line(w.written.URL, 300))
	case before == nil || before.Package == nil:
		card.Title = fmt.Sprintf("%s is locked: %s %s %s", w.name, w.locked.Type, plaintext.Line(w.locked.Name, 200), plaintext.Line(w.locked.Version, 60))
	case before.Package.Version == w.locked.Version:
		card.Title = fmt.Sprintf("%s changed (%s %s)", w.name, w.locked.Type, plaintext.Line(w.locked.Name, 200))
	default:
		card.Title = fmt.Sprintf("%s %s becomes %s (%s %s)", w.name, plaintext.Line(before.Package.Version, 60), plaintext.Line(w.locked.Version, 60), w.locked.Type, plaintext.Line(w.locked.Name, 200))
	}
	if w.locked != nil && len(w.locked.WantScripts) > 0 && !w.locked.Scripts {
		line("  install scripts that did not run: %s", plaintext.Line(strings.Join(w.locked.WantScripts, ", "), maxReason))
	}
	if w.locked != nil {
		line("  its program %s", plaintext.Unbroken(w.confinement()))
	}
	for _, note := range w.notes {
		line("  %s", note)
	}
	p, err := pins(w.Launcher.Place)
	if err != nil {
		return err
	}
	w.differences(p.Approved(w.name), line)
	for _, warning := range w.warnings() {
		line("  WARNING: %s", plaintext.Line(warning, maxReason))
	}
	w.Launcher.User().Show(card)
	return nil
}

// differences calls line with descriptions of how the definitions differ from the approved ones.
func (w *addition) differences(approved []guard.Definition, line func(format string, args ...any)) {
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
			line("  new      %s", plaintext.Line(key, 200))
		case was.Hash() == d.Hash():
			same++
		default:
			line("  changed  %s", plaintext.Line(key, 200))
			lines := strings.Split(strings.TrimRight(guard.Diff(was, d), "\n"), "\n")
			for _, text := range lines[:min(len(lines), maxDiffLines)] {
				line("             %s", plaintext.Unbroken(text))
			}
			if more := len(lines) - maxDiffLines; more > 0 {
				line("             (%d more lines)", more)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		line("  gone     %s", plaintext.Line(key, 200))
	}
	if same == 1 {
		line("  1 definition is unchanged")
	} else {
		line("  %d definitions are unchanged", same)
	}
}

// packageOfWords returns the package that a command line starts, and the number of words that name
// it. The number is 0 if the command line starts no package.
func packageOfWords(words []string) (install.Package, int) {
	p, n := runner.PackageOf(words)
	return install.Package{Type: p.Kind, Name: p.Name, Version: p.Version, Bin: p.Program, With: p.With}, n
}

// definitionKey returns the key of a definition in the lock.
func definitionKey(d guard.Definition) string {
	return strings.TrimSpace(string(d.Kind) + " " + d.Name)
}

// lockedDefinitions returns the hashes of the definitions that do not depend on the machine.
func lockedDefinitions(all []guard.Definition) map[string]string {
	hashes := map[string]string{}
	for _, d := range all {
		if d.Kind != guard.Command {
			hashes[definitionKey(d)] = d.Hash()
		}
	}
	return hashes
}
