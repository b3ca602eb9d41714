package add

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/registry"
)

// find determines the meaning of a word: a package, an address, a folder, or a name in a registry.
func (w *addition) find(ctx context.Context, word string) error {
	prefix, rest, _ := strings.Cut(word, ":")
	kind := runner.Prefixed(prefix)
	switch isPackage := kind.Type != ""; {
	case isPackage && rest == "":
		return commandline.Errorf("%s: the name of the package is missing", word)
	case isPackage:
		w.ofPackage(kind, rest)
	case strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "http://"):
		if kind = runner.Filed(word); kind.Type != "" {
			w.ofPackage(kind, word)
			return nil
		}
		w.server = &registry.Server{Name: word, Remotes: []registry.Remote{{Type: "streamable-http", URL: word}}}
	case isPath(word):
		path := w.Launcher.Place.Absolute(word)
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("add %s: %w", word, err)
		}
		if kind = runner.Filed(word); kind.Type == "" {
			kind = runner.Lying()
		}
		w.ofPackage(kind, path)
	case strings.Contains(word, ":"): // names in registries have no colon
		var prefixes []string
		for _, k := range runner.Kinds() {
			if k.Prefixes != nil {
				prefixes = append(prefixes, strings.Join(k.Prefixes, ": or ")+":")
			}
		}
		return commandline.Errorf("%s: unknown kind of package %q; use %s before a package, a URL, or ./FOLDER", plaintext.Line(word, 100), plaintext.Line(prefix, 100), runner.Or(prefixes, ", or "))
	default:
		return w.lookUp(ctx, word)
	}
	return nil
}

// isPath reports whether a word is the path of a file or a folder.
func isPath(word string) bool {
	return word == "." || word == ".." || filepath.IsAbs(word) || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") ||
		strings.HasPrefix(word, `.\`) || strings.HasPrefix(word, `..\`) || runner.Filed(word).Type != ""
}

// ofPackage makes a description of a server from the name of its package.
func (w *addition) ofPackage(kind *runner.Kind, word string) {
	name, version := kind.Split(word)
	w.server = &registry.Server{Name: name, Packages: []registry.Package{{RegistryType: kind.Type, Identifier: name, Version: version, Transport: registry.Remote{Type: "stdio"}}}}
}

// chooseName chooses the name of the server in the configuration.
func (w *addition) chooseName(ctx context.Context) error {
	w.name = cmp.Or(w.Name, shortName(w.server))
	all, err := w.configured()
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(all.Servers, func(d *config.Definition) bool { return d.Name == w.name }); at >= 0 {
		d := all.Servers[at]
		if !w.asks() {
			return fmt.Errorf("server %q exists already, %s: --name NAME adds a second one, junction server upgrade %[3]s updates it, and junction server remove %[3]s removes it first", w.name, definedIn(w.Launcher.Place, d), plaintext.ShellWord(w.name))
		}
		if err := w.replaceOrKeep(ctx, all.Servers, d); err != nil {
			return err
		}
	}
	if all.Settings != nil {
		w.bySettings = all.Settings.Of(w.name).Sandbox
	}
	data, err := os.ReadFile(w.configuration)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if w.before = data; w.replaces != nil {
		if w.before, err = hostconfig.RemoveServer(data, w.name); err != nil {
			return fmt.Errorf("%s: %w", w.configuration, err)
		}
		data = w.before
	}
	data, err = hostconfig.AddServer(data, w.name, hostconfig.NewServer{Command: "x"})
	if err != nil {
		return fmt.Errorf("%s: %w", w.configuration, err)
	}
	file, err := config.Parse(w.configuration, data, config.Options{})
	if err == nil {
		_, err = file.Find(w.name) // to check the limits for names
	}
	return err
}

func definedIn(p place.Place, d *config.Definition) string { return "defined in " + p.Short(d.Source) }

// replaceOrKeep asks whether to replace the existing server d, which has the same name.
func (w *addition) replaceOrKeep(ctx context.Context, all []*config.Definition, d *config.Definition) error {
	other := w.name
	for n := 2; slices.ContainsFunc(all, func(d *config.Definition) bool { return d.Name == other }); n++ {
		other = fmt.Sprintf("%s%d", w.name, n)
	}
	choices := []launch.Choice{{Key: "keep", Label: fmt.Sprintf("[k]eep both, this one as %q", other)}}
	if filename.Real(d.Source) == w.configuration && d.Words() != nil {
		choices = slices.Insert(choices, 0, launch.Choice{Key: "replace", Label: "[r]eplace it"})
	}
	key, err := w.Launcher.User().Choose(ctx, fmt.Sprintf("There is a server %q, %s.", w.name, definedIn(w.Launcher.Place, d)), choices)
	switch {
	case err != nil:
		return err
	case key == "replace":
		w.replaces = d.Words()
		w.notes = append(w.notes, "it replaces "+d.String())
	case key == "keep":
		w.name = other
	default:
		return fmt.Errorf("there is a server %q, %s, and nothing was changed", w.name, definedIn(w.Launcher.Place, d))
	}
	return nil
}

// shortName returns a short name for a server: the last word of its name, without common parts.
func shortName(s *registry.Server) string {
	name := s.Name
	switch {
	case strings.Contains(name, "://"):
		host, _, _ := strings.Cut(name[strings.Index(name, "://")+3:], "/")
		host, _, _ = strings.Cut(host, ":")
		if runner.Filed(name).Type != "" {
			name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
			break
		}
		labels := slices.DeleteFunc(strings.Split(host, "."), func(label string) bool { return label == "mcp" || label == "www" || label == "api" })
		if len(labels) > 1 {
			labels = labels[:len(labels)-1]
		}
		name = strings.Join(labels, "-")
	default:
		name = strings.TrimSuffix(filepath.ToSlash(name), runner.Filed(name).Suffix)
		name, _, _ = strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "[") // drops extras of PyPI
	}
	for _, common := range []string{"mcp-server-", "server-", "mcp-"} {
		name = strings.TrimPrefix(name, common)
	}
	for _, common := range []string{"-mcp-server", "-server", "-mcp", "_mcp"} {
		name = strings.TrimSuffix(name, common)
	}
	if name == "mcp" || name == "server" || name == "docs" { // for @owner/mcp, use the owner
		if owner, _, found := strings.Cut(strings.TrimPrefix(s.Name, "@"), "/"); found {
			name = owner
		}
	}
	return host.ServerName(name + ".x")
}
