package add

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/registry"
)

// lookUp finds a name in the registries.
func (w *addition) lookUp(ctx context.Context, word string) error {
	if w.Registries == nil {
		return orPackage(word, fmt.Errorf("%s: no registry is configured here", plaintext.Line(word, 100)))
	}
	e, suspicions, err := w.Registries.Find(ctx, word)
	if err != nil {
		return orPackage(word, err)
	}
	w.server, w.entry = e.Server, e
	why := plaintext.Line(e.StatusMessage, maxReason)
	switch e.Status {
	case registry.Deleted:
		return fmt.Errorf("%s %s was removed from the registry %s, so it is not added: %s", e.Server.Name, e.Server.Version, e.Source, cmp.Or(why, "none is known"))
	case registry.Deprecated:
		w.notes = append(w.notes, "deprecated in its registry: "+cmp.Or(why, "none is known"))
	}
	w.doubts = suspicions
	return nil
}

// orPackage adds the syntax for packages to the error of an unknown name, because pages about
// servers often omit the kind of a package.
func orPackage(word string, err error) error {
	switch {
	case strings.HasPrefix(word, "@"):
		return fmt.Errorf("%w; a package from npm is added as %s", err, plaintext.ShellWord("npm:"+word))
	case !strings.Contains(word, "/"):
		return fmt.Errorf("%w; a package is added as %s or %s", err, plaintext.ShellWord("npm:"+word), plaintext.ShellWord("pypi:"+word))
	}
	return err
}

// canRun reports whether packages of a kind can be installed and run on this machine.
func canRun(p place.Place, kind *runner.Kind) bool {
	return len(kind.Programs) == 0 || slices.ContainsFunc(kind.Programs, func(program string) bool {
		_, err := p.LookPath(program)
		return err == nil
	})
}

// chooseWay chooses an address or a package of the server. It prefers an address, and then the
// first package that can run here.
func (w *addition) chooseWay() error {
	if !w.Local {
		for _, kind := range []string{"streamable-http", "sse", ""} {
			for i, r := range w.server.Remotes {
				if r.Type == kind && r.URL != "" {
					w.remote = &w.server.Remotes[i]
					return nil
				}
			}
		}
	}
	var missing []string
	for i, p := range w.server.Packages {
		if p.Transport.Type != "" && p.Transport.Type != "stdio" {
			missing = append(missing, p.RegistryType+" (it serves HTTP at its own address)")
			continue
		}
		kind := runner.Of(p.RegistryType)
		if kind.Type == "" {
			missing = append(missing, p.RegistryType+" (junction cannot install such packages)")
			continue
		}
		if !canRun(w.Launcher.Place, kind) {
			missing = append(missing, p.RegistryType+" (needs "+strings.Join(kind.Programs, " or ")+")")
			continue
		}
		w.pkg = &w.server.Packages[i]
		return nil
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("%s: none of its packages can start here: %s", w.server.Name, plaintext.Line(strings.Join(missing, ", "), maxReason))
	case w.Local:
		return fmt.Errorf("%s: it has no package; leave --local out to use its URL", w.server.Name)
	}
	return fmt.Errorf("%s: the registry has neither a package nor a URL for it", w.server.Name)
}

// packageOf returns the package to install for a registry's entry.
func packageOf(p *registry.Package) install.Package {
	version := p.Version
	if version == "latest" {
		version = ""
	}
	return install.Package{Type: p.RegistryType, Name: p.Identifier, Version: version, SHA256: p.FileSHA256}
}

// install resolves the package and installs it into the store.
func (w *addition) install(ctx context.Context) error {
	store, err := w.Launcher.Locks.Store()
	if err != nil {
		return err
	}
	line, err := w.pkg.Line(registry.Known, true)
	if err != nil {
		return err
	}
	p := packageOf(w.pkg)
	p.Scripts, p.With, p.Bin = w.Scripts, cmp.Or(w.With, line.With), line.Program
	err = w.resolve(ctx, store, p)
	if errors.Is(err, install.ErrNoProgram) && p.Bin != "" {
		w.missingProgram, p.Bin = p.Bin, ""
		w.notes = append(w.notes, "left out is "+plaintext.Line(w.missingProgram, 100)+" was left out: its author wrote it before the package, but it is not a program of the package and could start another one")
		err = w.resolve(ctx, store, p)
	}
	if err != nil {
		return err
	}
	return w.fetch(ctx, store)
}

// resolve finds the exact version of the package.
func (w *addition) resolve(ctx context.Context, store launch.Packages, p install.Package) (err error) {
	defer w.busy("looking for " + p.Type + ":" + plaintext.Line(p.Name, 80) + " and what it needs")()
	if w.locked, err = store.Resolve(ctx, p); err != nil {
		return notInstalled(err)
	}
	return nil
}

// fetch installs the package into the store. Meanwhile it asks the registry for advice about the
// version, which takes seconds. resolve has already refused pulled versions.
func (w *addition) fetch(ctx context.Context, store launch.Packages) error {
	var advice install.Advice
	var unknown error
	var asking sync.WaitGroup
	asking.Go(func() { advice, unknown = store.Advice(ctx, w.locked) })
	name := w.locked.Type + ":" + plaintext.Line(w.locked.Name, 80)
	done := w.busy("installing " + name + " " + plaintext.Line(w.locked.Version, 40))
	var err error
	w.program, err = store.Install(ctx, w.locked)
	asking.Wait()
	done()
	switch {
	case err != nil:
		return notInstalled(err)
	case unknown != nil:
		w.notes = append(w.notes, "the status of this version in the registry is not known: "+plaintext.Line(unknown.Error(), maxReason))
	case advice.Pulled:
		return fmt.Errorf("%s %s was withdrawn by its author or registry, so it is not installed; the newest is %s", name, w.locked.Version, advice.Newest)
	case advice.Deprecated != "":
		w.notes = append(w.notes, "deprecated: "+plaintext.Line(advice.Deprecated, maxReason))
	}
	return nil
}

// notInstalled adds advice to the error of an installation.
func notInstalled(err error) error {
	if errors.Is(err, install.ErrScripts) {
		err = fmt.Errorf("%w; --scripts allows it", err)
	}
	return err
}

// compareNames asks the user about a package that resembles a better known one, before it downloads
// any of it.
func (w *addition) compareNames(ctx context.Context) error {
	if w.entry == nil && w.pkg != nil {
		for _, l := range w.likenesses(ctx) {
			w.doubts = append(w.doubts, fmt.Sprintf("%s looks like the better known %s, but is a different one: %s", plaintext.Line(w.pkg.Identifier, 100), plaintext.Line(l.Name, 100), l.Why))
		}
	}
	if len(w.doubts) == 0 || w.Sure {
		return nil
	}
	doubts := strings.Join(w.doubts, "; ")
	if !w.asks() {
		return fmt.Errorf("not added: %s; --sure adds it nevertheless", doubts)
	}
	if agreed, err := w.confirm(ctx, "CAREFUL: "+doubts+". Go on?"); err != nil || agreed {
		return err
	}
	return errors.New("not added, as it looks like something better known")
}

// likenesses returns the better known packages that resemble a package outside the registries.
func (w *addition) likenesses(ctx context.Context) []registry.Likeness {
	if kind := runner.Of(w.pkg.RegistryType); kind.Prefixes == nil || kind.Suffix != "" { // the names of such packages are paths or addresses
		return nil
	}
	if w.Registries != nil {
		if similar, err := w.Registries.Similar(ctx, w.pkg.RegistryType, w.pkg.Identifier); err == nil {
			return similar
		}
	}
	return registry.SimilarKnown(w.pkg.RegistryType, w.pkg.Identifier) // the local copy of the registries is unreadable
}
