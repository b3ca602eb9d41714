package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// ConfigOptions returns the options for reading the configurations and variables of a place.
func ConfigOptions(p place.Place) config.Options {
	home, _ := p.UserHomeDir() // without a home folder, no files in it are read
	return config.Options{Getenv: p.LookupEnv, WorkDir: p.Dir, HomeDir: home}
}

// ConfigFiles returns the paths of the configuration files: those of --config, or those found.
func (l *Launcher) ConfigFiles(o config.Options) []string {
	if len(l.Config) > 0 {
		return l.Place.Paths(l.Config)
	}
	return config.Find(o)
}

// A Configuration holds the files of a configuration and the entries in them.
type Configuration struct {
	Set     *config.Set
	Entries []Entry
	Names   []string // of the chosen Entries; empty means all
}

// Read reads the configuration: [Launcher.Config], or the files that are found. The error names files that cannot be read, and the Configuration
// has the others. Without files, it has servers of [Launcher.Ships].
func (l *Launcher) Read() (Configuration, error) {
	o := ConfigOptions(l.Place)
	if o.Secret = l.Secret; l.absent() == "" {
		o.Input = l.Input
	}
	set, err := config.LoadAll(l.ConfigFiles(o), o)
	l.Own.AddSettings(set)
	err = withImport(err)
	c := Configuration{Set: set}
	own := sync.OnceValues(func() (*settings.Settings, error) { return l.QuietSettings(set) })
	for _, d := range set.Servers {
		c.Entries = append(c.Entries, Entry{Name: d.Name, Definition: d, Sandbox: func() (*settings.Sandbox, error) {
			s, err := own()
			if err != nil {
				return nil, err
			}
			return s.Of(d.Name).Sandbox, nil
		}})
	}
	if len(l.Config) > 0 {
		return c, err
	}
	c.Entries = l.withoutConnected(c.Entries)
	if len(c.Entries) == 0 && len(set.Problems()) == 0 && err == nil {
		for _, name := range []string{"everything", "filesystem"} {
			if slices.Contains(l.Ships.Names, name) {
				c.Entries = append(c.Entries, Entry{Name: name})
			}
		}
	}
	return c, err
}

// ConfiguredNames returns the names of all configured servers, including those with an invalid
// entry.
func ConfiguredNames(set *config.Set, entries []Entry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	for _, p := range set.Problems() {
		if p.Server != "" && !slices.Contains(names, p.Server) {
			names = append(names, p.Server)
		}
	}
	return names
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
	return fmt.Errorf("%w; to copy servers of Codex, Goose and Continue to junction's own file, run for example: junction host import %s --file %s", err, host, plaintext.ShellWord(p.Source))
}

// Input asks the user for a value that a configuration file leaves open, and returns the default if
// no value was typed.
func (l *Launcher) Input(ctx context.Context, in config.Input) (string, error) {
	q := Question{Secret: in.Password}
	if in.Default != "" && !in.Password {
		q.Prompt = "[" + plaintext.Line(in.Default, 200) + "] > "
	}
	for _, o := range in.Options {
		q.Choices = append(q.Choices, o.Label)
	}
	q.Text = fmt.Sprintf("Server %q needs: %s (%s)", in.Server, plaintext.Line(cmp.Or(in.Description, in.ID), 500), in.Source)
	word, err := l.User().Text(ctx, q)
	if word = cmp.Or(word, in.Default); err != nil || word == "" {
		return "", cmp.Or(err, errors.New("no value was typed"))
	}
	if in.Password {
		l.Hide(word)
	}
	if at := slices.Index(q.Choices, word); at >= 0 {
		word = in.Options[at].Value
	}
	return word, nil
}

// OpenJournal returns the journal of the changes to hosts' files.
func OpenJournal(p place.Place) (hostconfig.Journal, error) {
	folder, err := p.State("taps")
	return hostconfig.Journal{Folder: folder}, err
}

// withoutConnected returns the entries without those that start this configuration for a host.
func (l *Launcher) withoutConnected(entries []Entry) []Entry {
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == hostconfig.OwnName }) {
		return entries
	}
	journal, err := OpenJournal(l.Place)
	if err != nil {
		return entries
	}
	records, _ := journal.Records() // an entry without a record stays
	return slices.DeleteFunc(entries, func(e Entry) bool {
		return e.Name == hostconfig.OwnName && IsConnected(l.Place, records, e.Definition.Source)
	})
}

// IsConnected reports whether junction host connect changed the file at path.
func IsConnected(p place.Place, records []*hostconfig.Record, path string) bool {
	return slices.ContainsFunc(records, func(r *hostconfig.Record) bool { return r.Connected && r.Path == p.Real(path) })
}

// Settings returns the settings in the configuration, never nil, and the path of their file.
// Only the first file with settings counts; those of a project count only if --config names its
// file. It prints which settings are not used.
func (l *Launcher) Settings(set *config.Set) (*settings.Settings, string, error) {
	var found *settings.Settings
	var from string
	l.Unheld = nil
	for _, f := range set.Files {
		s, file, err := f.Settings()
		switch {
		case err != nil:
			return nil, "", err
		case s == nil:
		case f.Project && len(l.Config) == 0:
			l.Unheld = append(l.Unheld, fmt.Sprintf("the settings under \"junction\" in %s (%s), because the file belongs to a project; --config %s uses them",
				l.Place.Short(file.Path), strings.Join(members(s), ", "), l.Place.Short(f.Path)))
			l.Screen.Printf("junction: not used: %s\n", l.Unheld[len(l.Unheld)-1])
		case found != nil:
			l.Screen.Printf("junction: the settings under \"junction\" in %s are not used: %s comes first\n", l.Place.Short(file.Path), l.Place.Short(from))
		default:
			found, from = s, file.Path
		}
	}
	if found == nil {
		found = &settings.Settings{}
	}
	for _, name := range slices.Sorted(maps.Keys(found.Servers)) { // a server whose sandbox is invalid would end at a reload
		if s := found.Servers[name].Sandbox; s == nil {
			continue
		} else if err := ProfileOf(s).Check(); err != nil {
			return nil, "", fmt.Errorf("%s: servers.%s.sandbox: %w", l.Place.Short(from), name, err)
		}
	}
	return found, from, nil
}

// QuietSettings is like [Launcher.Settings], but prints nothing and does not check sandboxes.
func (l *Launcher) QuietSettings(set *config.Set) (*settings.Settings, error) {
	for _, f := range set.Files {
		if s, _, err := f.Settings(); err != nil {
			return nil, err
		} else if s != nil && (len(l.Config) > 0 || !f.Project) {
			return s, nil
		}
	}
	return &settings.Settings{}, nil
}

// members returns the names of the members that are set.
func members(s *settings.Settings) []string {
	var set map[string]json.RawMessage
	data, err := json.Marshal(s)
	if err != nil || json.Unmarshal(data, &set) != nil {
		return nil // strings and numbers always encode
	}
	return slices.Sorted(maps.Keys(set))
}
