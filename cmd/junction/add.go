package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/registry"
	"github.com/junction-mcp/junction/sandbox"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addFlags are those of add alone.
type addFlags struct {
	registryFlags
	name      string
	project   bool
	local     bool
	yes       bool
	sure      bool
	scripts   bool
	with      string
	noSandbox bool
	allowed   sandbox.Profile
	set       []string
	env       []string
	header    []string
	typed     string // all of them as they were typed, but for what may be secret
}

func (a *app) addCommand() *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add NAME|PACKAGE|URL|FOLDER [-- ARGUMENT…]",
		Short: "Install a server, show what it is, and write it into the configuration",
		Long: `Add a server to the configuration. It is installed, started once, and shown: what runs, what
it offers, and what looks wrong with that. If you agree, its entry is written, in a form that
any host understands, and junction.lock next to it says what was installed, to the byte. From
then on exactly that is started, without a package manager and without a network.

  junction add io.github.owner/server            # by its name in the registry
  junction add npm:@modelcontextprotocol/server-everything
  junction add pypi:mcp-server-time@2026.10.19   # or cargo: nuget: docker: mcpb:
  junction add https://example.com/mcp
  junction add ./folder
  junction add npm:@modelcontextprotocol/server-filesystem -- /home/me/notes

It goes into your own configuration, junction/mcp.json; --project writes junction.json of the
project, and --config any file. Values that a server needs are asked for; --set gives them.
Secrets are kept as junction secret does. Its program is confined: it reads the system and its own
package, reads the files and writes into the folders that you name, also with --env, and reaches
the hosts of addresses among its arguments and of --host. junction sandbox allow NAME gives more.

Exit codes:
  0    it was added, or the answer was no
  2    the command line is wrong, or something must be asked and nobody can be
  3    it was not added: the package, its start, or a file; nothing was changed
  5    it did not answer in time
  130  interrupted (Ctrl-C)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var more []string
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, more = args[:dash], args[dash:]
			}
			if len(args) != 1 {
				return usagef("%s: expected one server, got %d; arguments of the server stand behind \"--\"", cmd.CommandPath(), len(args))
			}
			f.typed = typedFlags(cmd.Flags())
			return a.add(cmd.Context(), args[0], more, f)
		},
	}
	cmd.Flags().StringVar(&f.name, "name", "", "call the server `NAME` in the configuration")
	cmd.Flags().BoolVar(&f.project, "project", false, "write into junction.json of the project that is worked in")
	cmd.Flags().BoolVar(&f.local, "local", false, "install a package where the server can be reached at a URL, too")
	cmd.Flags().BoolVar(&f.sure, "sure", false, "add it although its name is nearly that of a better known one, or something looks harmful")
	cmd.Flags().BoolVar(&f.scripts, "scripts", false, "let the package run its install scripts, as it cannot be installed without")
	cmd.Flags().StringVar(&f.with, "with", "", "hold a package of PyPI to one more `REQUIREMENT`, such as 'mcp<2' for one that knows no newer mcp")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "give the value `KEY=VALUE` that the server needs (repeatable)")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "write `NAME=VALUE` into the entry's environment (repeatable); a value can be ${secret:NAME}")
	cmd.Flags().StringArrayVar(&f.header, "header", nil, "write the header `'NAME: VALUE'` into the entry of a URL (repeatable)")
	cmd.Flags().BoolVar(&f.noSandbox, "no-sandbox", false, "let the server's program do what you may")
	cmd.Flags().StringArrayVar(&f.allowed.Hosts, "host", nil, "let the confined program reach `HOST` at ports 443 and 80, or HOST:PORT (repeatable)")
	cmd.Flags().StringArrayVar(&f.allowed.Read, "read", nil, "let the confined program read `PATH` (repeatable)")
	cmd.Flags().StringArrayVar(&f.allowed.Write, "write", nil, "let the confined program read and write `PATH` (repeatable)")
	yesFlag(cmd.Flags(), &f.yes)
	f.registryFlags.define(cmd.Flags())
	a.configFlags(cmd.Flags())
	cmd.Flags().DurationVar(&a.launch.Timeout, "timeout", 0, "give up after `DURATION` without a response, such as 30s (default 1m; 2m to connect)")
	return cmd
}

func yesFlag(f *pflag.FlagSet, yes *bool) {
	f.BoolVarP(yes, "yes", "y", false, "do not ask")
}

// An addition is a server that is about to be added, or upgraded.
type addition struct {
	app    *app
	flags  addFlags
	server *registry.Server // what is said of it; made here where no registry says it
	entry  *registry.Entry  // nil: it is in no registry that was asked

	name          string // in the configuration
	configuration string // the file
	before        []byte // what is in it
	word          string // what add was given; "": it is upgraded
	more          []string

	pkg        *registry.Package // nil: it is reached at a URL
	remote     *registry.Remote
	locked     *install.Locked
	program    *install.Program
	written    hostconfig.NewServer
	secrets    map[string]string // to be kept, by name
	sandbox    *sandbox.Profile  // nil: it is not confined
	bySettings *settings.Sandbox // what the person's settings say of its name, which comes before sandbox; nil: nothing
	doubts     []string          // why it may be another one than is meant
	notes      []string          // what else should be known
	typed      []string          // values and arguments that are the person's, and not the author's
	fixed      []string          // what the author sets in headers and variables
	given      map[string][]string
	references []string // to secrets of this server, as its entry has them
	noProgram  string   // that its author names and that the package does not have
	data       *dataPlace
	replaces   []string // the words of the entry that it takes the place of; nil: of none

	dry *dryRun
}

// add adds one server.
func (a *app) add(ctx context.Context, word string, more []string, f addFlags) error {
	w := &addition{app: a, flags: f, word: word, more: more, secrets: map[string]string{}}
	var err error
	if w.configuration, err = a.addFile(f.project); err != nil {
		return err
	}
	if err := w.find(ctx, word); err != nil {
		return err
	}
	if err := w.chooseName(ctx); err != nil {
		return err
	}
	if err := w.chooseWay(); err != nil {
		return err
	}
	if f.with != "" && (w.pkg == nil || !runner.Of(w.pkg.RegistryType).IsPython) {
		return usagef("--with is for packages of PyPI, and %s is none", w.name)
	}
	if err := w.compareNames(ctx); err != nil {
		return err
	}
	if w.pkg != nil {
		if err := w.install(ctx); err != nil {
			return err
		}
	}
	if err := w.fill(ctx); err != nil {
		return err
	}
	undo, err := w.makeFolders(ctx)
	added := false
	if err == nil {
		added, err = w.addFilled(ctx)
	}
	if !added {
		undo()
	}
	return err
}

// addFilled adds a server whose entry is known; added is false where nothing was written.
func (w *addition) addFilled(ctx context.Context) (added bool, err error) {
	if err := w.confine(); err != nil {
		return false, err
	}
	if err := w.keepData(ctx); err != nil {
		return false, err
	}
	defer func() { w.dry.close() }()
	err = w.rehearse(ctx)
	if err != nil && w.wantsOlder(err) && w.holdOlder(ctx) == nil {
		err = w.rehearse(ctx)
	}
	if err != nil {
		return false, err
	}
	w.noteMissing()
	w.noteNothing()
	w.noteForgetful()
	w.show()
	question := "Add it? [y]es, [N]o > "
	if w.data != nil {
		question = fmt.Sprintf("It keeps nothing that it writes, unless %s says where. Add it? [y]es, with [d]ata in %s, [N]o > ", w.data.variable, launch.ProfilePath(w.data.folder))
	}
	if agreed, err := w.agreed(ctx, question); err != nil || !agreed {
		return false, err
	}
	err = w.write(ctx)
	return err == nil, err
}

// addFile is the file that is written into.
func (a *app) addFile(project bool) (string, error) {
	switch {
	case len(a.flags.config) > 1:
		return "", usagef("--config: servers are written to one file, got %d", len(a.flags.config))
	case len(a.flags.config) == 1 && project:
		return "", usagef("--project and --config both say which file is written into; leave one out")
	case len(a.flags.config) == 1:
		return filename.Real(a.flags.config[0]), nil
	case project:
		for _, path := range config.Find(config.Options{}) {
			if filepath.Base(path) == "junction.json" {
				return filename.Real(path), nil
			}
		}
		return filename.Real("junction.json"), nil
	}
	path := config.Own(config.Options{})
	if path == "" {
		return "", usagef("your home folder is not known; name a file with --config")
	}
	return filename.Real(path), nil
}

// find finds out what is meant: a package, an address, a folder, or a name in a registry.
func (w *addition) find(ctx context.Context, word string) error {
	prefix, rest, _ := strings.Cut(word, ":")
	kind := runner.Prefixed(prefix)
	switch isPackage := kind.Type != ""; {
	case isPackage && rest == "":
		return usagef("%s: the name of the package is missing", word)
	case isPackage:
		w.ofPackage(kind, rest)
	case strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "http://"):
		if kind = runner.Filed(word); kind.Type != "" {
			w.ofPackage(kind, word)
			return nil
		}
		w.server = &registry.Server{Name: word, Remotes: []registry.Remote{{Type: "streamable-http", URL: word}}}
	case isPath(word):
		path := filename.Absolute(word)
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("add %s: %w", word, err)
		}
		if kind = runner.Filed(word); kind.Type == "" {
			kind = runner.Lying()
		}
		w.ofPackage(kind, path)
	case strings.Contains(word, ":"): // no name in a registry has one
		var prefixes []string
		for _, k := range runner.Kinds() {
			if k.Prefixes != nil {
				prefixes = append(prefixes, strings.Join(k.Prefixes, ": or ")+":")
			}
		}
		return usagef("%s: %q is no kind of package that add knows: before a package stands %s, before an address https://, and before a folder ./", plaintext.Line(word, 100), plaintext.Line(prefix, 100), runner.Or(prefixes, ", or "))
	default:
		return w.lookUp(ctx, word)
	}
	return nil
}

// isPath reports whether a word names a file or a folder, and nothing in a registry.
func isPath(word string) bool {
	return word == "." || word == ".." || filepath.IsAbs(word) || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") ||
		strings.HasPrefix(word, `.\`) || strings.HasPrefix(word, `..\`) || runner.Filed(word).Type != ""
}

// ofPackage is a server of which only its package is known.
func (w *addition) ofPackage(kind *runner.Kind, word string) {
	name, version := kind.Split(word)
	w.server = &registry.Server{Name: name, Packages: []registry.Package{{RegistryType: kind.Type, Identifier: name, Version: version, Transport: registry.Remote{Type: "stdio"}}}}
}

// chooseName chooses what the server is called in the configuration.
func (w *addition) chooseName(ctx context.Context) error {
	w.name = cmp.Or(w.flags.name, shortName(w.server))
	set, entries, err := w.app.servers()
	if err != nil && len(w.app.flags.config) == 0 {
		return err
	}
	if set != nil && len(entries) > 0 {
		at := slices.IndexFunc(entries, func(e entry) bool { return e.definition != nil && e.name == w.name })
		if at >= 0 && w.app.asks() && !w.flags.yes {
			if err := w.replaceOrKeep(ctx, entries, entries[at]); err != nil {
				return err
			}
		} else if at >= 0 {
			return fmt.Errorf("there is a server %q, %s: --name calls this one something else, junction upgrade %[3]s installs a newer version of that one, and junction remove %[3]s takes it out, to be added with other arguments", w.name, entries[at].origin(), plaintext.ShellWord(w.name))
		}
	}
	if set != nil {
		all, err := quietSettings(set, len(w.app.flags.config) > 0)
		if err != nil {
			return fmt.Errorf("server %q: the settings that may confine it cannot be read: %w", w.name, err)
		}
		w.bySettings = all.Of(w.name).Sandbox
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
		_, err = definitionIn(file, w.name) // names have limits
	}
	return err
}

// replaceOrKeep asks what becomes of the server that has the name already.
func (w *addition) replaceOrKeep(ctx context.Context, entries []entry, e entry) error {
	other := w.name
	for n := 2; slices.ContainsFunc(entries, func(e entry) bool { return e.name == other }); n++ {
		other = fmt.Sprintf("%s%d", w.name, n)
	}
	replace, mayReplace := "", filename.Real(e.definition.Source) == w.configuration && e.definition.Words() != nil
	if mayReplace {
		replace = "[r]eplace it, "
	}
	word, err := w.app.answer(ctx, fmt.Sprintf("There is a server %q, %s. %s[k]eep both, this one as %q, [N]o > ", w.name, e.origin(), replace, other))
	switch {
	case err != nil:
		return err
	case mayReplace && (word == "r" || word == "replace"):
		w.replaces = e.definition.Words()
		w.notes = append(w.notes, "it takes the place of "+e.definition.String())
	case word == "k" || word == "keep":
		w.name = other
	default:
		return fmt.Errorf("there is a server %q, %s, and nothing was changed", w.name, e.origin())
	}
	return nil
}

// shortName is what people call a server: its last word, without those that all have.
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
		name, _, _ = strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "[") // extras of PyPI
	}
	for _, common := range []string{"mcp-server-", "server-", "mcp-"} {
		name = strings.TrimPrefix(name, common)
	}
	for _, common := range []string{"-mcp-server", "-server", "-mcp", "_mcp"} {
		name = strings.TrimSuffix(name, common)
	}
	if name == "mcp" || name == "server" || name == "docs" { // of @owner/mcp the owner says more
		if owner, _, found := strings.Cut(strings.TrimPrefix(s.Name, "@"), "/"); found {
			name = owner
		}
	}
	return host.ServerName(name + ".x")
}
