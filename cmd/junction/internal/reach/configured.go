package reach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/sandbox"
)

// ConfiguredServers reads the configuration. It prints errors of files and goes on without them,
// unless --config names the files. Without a configuration it returns servers that ship with
// junction.
func ConfiguredServers(a *cli.App) (*config.Set, []launch.Entry, error) {
	set, entries, err := ReadServers(a)
	if err != nil && len(a.Flags.Config) > 0 {
		return nil, nil, err
	}
	if err != nil {
		a.Screen.Printf("junction: %v\n", err)
	}
	a.Unread, a.Faulty = err, err != nil || len(set.Problems()) > 0
	return set, entries, nil
}

// ConfigOptions returns the options for reading the configurations and variables of a place.
func ConfigOptions(p place.Place) config.Options {
	home, _ := p.UserHomeDir() // without a home folder, no files in it are read
	return config.Options{Getenv: p.LookupEnv, WorkDir: p.Dir, HomeDir: home}
}

// HostOptions returns the options for reading the configurations of hosts in a place.
func HostOptions(p place.Place) hostconfig.Options {
	home, _ := p.UserHomeDir()
	return hostconfig.Options{Getenv: p.Getenv, WorkDir: p.Dir, HomeDir: home}
}

// ConfigFiles returns the paths of the configuration files: those of --config, or those found.
func ConfigFiles(a *cli.App, o config.Options) []string {
	if len(a.Flags.Config) > 0 {
		return a.Paths(a.Flags.Config)
	}
	return config.Find(o)
}

// ReadServers reads the configuration like [ConfiguredServers], and returns the errors of files in
// place of printing them.
func ReadServers(a *cli.App) (*config.Set, []launch.Entry, error) {
	o := ConfigOptions(a.Place)
	o.Input, o.Secret = func(ctx context.Context, in config.Input) (string, error) { return Input(ctx, a, in) }, a.Secret
	if !a.CanAsk() {
		o.Input = nil
	}
	set, err := config.LoadAll(ConfigFiles(a, o), o)
	a.Launch.Own.AddSettings(set)
	err = withImport(err)
	var entries []launch.Entry
	own := sync.OnceValues(func() (*settings.Settings, error) { return QuietSettings(set, len(a.Flags.Config) > 0) })
	for _, d := range set.Servers {
		entries = append(entries, launch.Entry{Name: d.Name, Definition: d, Sandbox: func() (*settings.Sandbox, error) {
			s, err := own()
			if err != nil {
				return nil, err
			}
			return s.Of(d.Name).Sandbox, nil
		}})
	}
	if len(a.Flags.Config) == 0 {
		entries = withoutConnected(a, entries)
	}
	if len(entries) == 0 && len(set.Problems()) == 0 && err == nil && len(a.Flags.Config) == 0 {
		for _, name := range []string{"everything", "filesystem"} {
			entries = append(entries, launch.Entry{Name: name})
		}
	}
	return set, entries, err
}

// withImport adds the command of junction host import to the error of a file in a format that only
// import reads.
func withImport(err error) error {
	var p *config.Problem
	if !errors.As(err, &p) {
		return err
	}
	host := map[string]string{".toml": "codex", ".yaml": "goose", ".yml": "goose"}[strings.ToLower(filepath.Ext(p.Source))]
	if host == "" {
		return err
	}
	return fmt.Errorf("%w; what Codex, Goose and Continue have in such files junction host import takes into junction's own, such as: junction host import %s --file %s", err, host, plaintext.ShellWord(p.Source))
}

// ConfiguredTarget returns the target of the configured server with that name, after asking for consent
// if the server needs it. The target may lead to a running junction up.
func ConfiguredTarget(ctx context.Context, a *cli.App, name string) (launch.Target, error) {
	set, e, err := FindConfigured(a, name)
	if err != nil {
		return launch.Target{}, err
	}
	if e.Definition != nil {
		ReportIgnored(a, set, e.Definition)
	}
	if t, is := shared(ctx, a, e); is {
		return t, nil
	}
	if err := Consent(ctx, a, e); err != nil {
		return launch.Target{}, err
	}
	return Resolve(ctx, a, e)
}

// FindConfigured reads the configuration and returns it with the entry that [Find] returns.
func FindConfigured(a *cli.App, name string) (*config.Set, launch.Entry, error) {
	set, entries, err := ConfiguredServers(a)
	if err != nil {
		return nil, launch.Entry{}, err
	}
	e, err := Find(name, set, entries)
	return set, e, err
}

// Find returns the entry with that name, or the server of that name that ships with junction. The
// error names the problem of an invalid entry, or suggests a similar name.
func Find(name string, set *config.Set, entries []launch.Entry) (launch.Entry, error) {
	if i := slices.IndexFunc(entries, func(e launch.Entry) bool { return e.Name == name }); i >= 0 {
		return entries[i], nil
	}
	for _, p := range set.Problems() {
		if p.Server == name {
			return launch.Entry{}, Unusable(p, set)
		}
	}
	if slices.Contains(cli.ShippedNames(), name) {
		return launch.Entry{Name: name}, nil
	}
	return launch.Entry{}, unknownServer(name, set, entries)
}

// FindEnabled is like [Find], but returns an error for a disabled server.
func FindEnabled(name string, set *config.Set, entries []launch.Entry) (launch.Entry, error) {
	e, err := Find(name, set, entries)
	if err == nil && e.IsDisabled() {
		err = fmt.Errorf("server %q is disabled in %s; enable it there to use it", name, e.Definition.Source)
	}
	return e, err
}

// ServerNames returns the names of entries.
func ServerNames(entries []launch.Entry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// ConfiguredNames returns the names of all configured servers, including those with an invalid
// entry.
func ConfiguredNames(set *config.Set, entries []launch.Entry) []string {
	names := ServerNames(entries)
	for _, p := range set.Problems() {
		if p.Server != "" && !slices.Contains(names, p.Server) {
			names = append(names, p.Server)
		}
	}
	return names
}

// unknownServer returns the error for a name without a server, with a suggestion if a name is
// similar.
func unknownServer(name string, set *config.Set, entries []launch.Entry) error {
	names := ServerNames(entries)
	if near := nearest.Name(name, append(slices.Clone(names), cli.ShippedNames()...)); near != "" {
		return fmt.Errorf("no server is called %q; did you mean %q?", name, near)
	}
	var files []string
	for _, f := range set.Files {
		files = append(files, f.Path)
	}
	where := "there is no configuration file"
	if len(files) > 0 {
		where = "not in " + strings.Join(files, ", ")
	}
	return fmt.Errorf("no server is called %q (%s; there are: %s)", name, where, strings.Join(names, ", "))
}

// Resolve returns the target of an entry: its variables replaced, its lock applied, its sandbox set
// up.
func Resolve(ctx context.Context, a *cli.App, e launch.Entry) (launch.Target, error) {
	return ResolveWith(ctx, a, e, a.Launch.AuthorizedAs)
}

// ResolveWith is like [Resolve], with send for the requests to a server that has a URL.
func ResolveWith(ctx context.Context, a *cli.App, e launch.Entry, send launch.Sender) (launch.Target, error) {
	if e.Definition == nil {
		h, err := Shipped(ctx, a, e.Name, Shipping{})
		if err != nil {
			return launch.Target{}, err
		}
		return launch.Target{Name: e.Name, Origin: e.Origin(a.Place), Transport: stream.PipeWith(h, mcp.ServeOptions{Logger: a.Logger()})}, nil
	}
	if slices.Contains(a.Launch.Chain(), launch.EntryMark(e.Definition)) {
		return launch.Target{}, fmt.Errorf("server %q is started by itself: its entry in %s runs junction again", e.Name, e.Definition.Source)
	}
	s, err := e.Definition.Resolve(ctx)
	if err != nil {
		return launch.Target{}, err
	}
	started, locked, err := ResolveLocked(ctx, a, e, s)
	if err != nil {
		return launch.Target{}, err
	}
	t, err := a.Launch.Connect(started, e.Definition, send)
	if c, is := t.(*command.Command); is && err == nil {
		err = confine(a, c, e, locked)
	}
	return launch.Target{Name: s.Name, Origin: e.Origin(a.Place), By: launch.Of(s.Kind), Transport: t, Timeout: s.Timeout, Server: s, IsInstalled: started != s, Locked: locked, StartTimeout: e.Definition.StartTimeout, Revision: e.Definition.Revision}, err
}

// confine sets up the sandbox of an entry's program: as the settings define it, or else as the lock
// does.
func confine(a *cli.App, c *command.Command, e launch.Entry, locked *install.LockedServer) error {
	if e.Sandbox == nil {
		return nil
	}
	s, err := e.Sandbox()
	if err != nil {
		return fmt.Errorf("server %q: the settings that may confine it cannot be read: %w", e.Name, err)
	}
	var p *sandbox.Profile
	if locked != nil {
		p = locked.Sandbox
	}
	return a.Launch.ConfineBy(c, e.Name, s, p, sandbox.Options{Package: a.Launch.InstalledFolders(locked), Folder: e.Definition.Cwd != ""})
}

// Input asks the user for a value that a configuration file leaves open, and returns the default if
// nothing was typed.
func Input(ctx context.Context, a *cli.App, in config.Input) (string, error) {
	prompt := "> "
	if in.Default != "" && !in.Password {
		prompt = "[" + plaintext.Line(in.Default, 200) + "] > "
	}
	var labels []string
	for _, o := range in.Options {
		labels = append(labels, o.Label)
	}
	intro := fmt.Sprintf("Server %q needs: %s (%s)", in.Server, plaintext.Line(cmp.Or(in.Description, in.ID), 500), in.Source)
	word, err := askTyped(ctx, a, intro, labels, prompt, in.Password)
	if word = cmp.Or(word, in.Default); err != nil || word == "" {
		return "", cmp.Or(err, errors.New("nothing was typed"))
	}
	if in.Password {
		a.Launch.Hide(word)
	}
	if at := slices.Index(labels, word); at >= 0 {
		word = in.Options[at].Value
	}
	return word, nil
}

// CommandLine returns a command line that was typed, with quotes around ambiguous words. If a word
// names a file relative to the current folder, it appends the folder, because elsewhere the same
// words start another program.
func CommandLine(p place.Place, typed []string) []string {
	words := slices.Clone(typed)
	here := false
	for i, word := range words {
		if word == "" || word[0] == '(' || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r == '"' }) {
			words[i] = strconv.Quote(word)
		}
		info, err := os.Stat(p.Path(word))
		here = here || !filepath.IsAbs(word) && err == nil && info.Mode().IsRegular()
	}
	if here {
		words = append(words, "(in "+p.Real(".")+")")
	}
	return words
}

// IsWithin reports whether the current folder is this folder or in it.
func IsWithin(p place.Place, folder string) bool {
	here, err := p.Getwd()
	if err != nil {
		return false
	}
	rest, err := filepath.Rel(p.Real(folder), p.Real(here))
	return err == nil && filepath.IsLocal(rest)
}
