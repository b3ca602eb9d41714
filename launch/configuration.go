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

// ConfigOptions returns the options for reading configuration files, with the environment and
// folders of p.
func ConfigOptions(p place.Place) config.Options {
	home, _ := p.UserHomeDir() // without a home folder, no files of a home folder are read
	return config.Options{Getenv: p.LookupEnv, WorkDir: p.Dir, HomeDir: home}
}

// ConfigFiles returns the paths of the configuration files: the files of --config, or else those
// that [config.Find] finds.
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
	Names   []string // of the chosen servers; empty means all
}

// Read reads the files of [Launcher.Config], or else those that [config.Find] finds. The error
// names unreadable files; the Configuration then has the servers of the other files. If no file
// defines a server, the entries are servers of [Launcher.Ships]: those to try, and only the one that
// reads no files if [Launcher.Config] names Junction's own file, because hosts start it in any folder.
func (l *Launcher) Read() (Configuration, error) {
	o := ConfigOptions(l.Place)
	if o.Secret = l.Secret; l.absent() == "" {
		o.Input = l.Input
	}
	set, err := config.LoadAll(l.ConfigFiles(o), o)
	l.Own.AddSettings(set)
	err = withImport(err)
	c := Configuration{Set: set}
	own := sync.OnceValues(func() (*settings.Settings, error) {
		s, _, err := l.QuietSettings(set)
		return s, err
	})
	for _, d := range set.Servers {
		c.Entries = append(c.Entries, Entry{Name: d.Name, Definition: d, Sandbox: func() (*settings.Sandbox, error) {
			s, err := own()
			if err != nil {
				return nil, err
			}
			return s.Of(d.Name).Sandbox, nil
		}})
	}
	try := []string{"everything", "filesystem"}
	switch {
	case len(l.Config) == 0:
		c.Entries = l.withoutConnected(c.Entries)
	case slices.Equal(l.ConfigFiles(o), []string{config.Own(o)}):
		try = try[:1]
	default:
		return c, err
	}
	if len(c.Entries) == 0 && len(set.Problems()) == 0 && err == nil {
		for _, name := range try {
			if slices.Contains(l.Ships.Names, name) {
				c.Entries = append(c.Entries, Entry{Name: name})
			}
		}
	}
	return c, err
}

// ConfiguredNames returns the names of all configured servers, including those with a faulty entry.
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

// withImport completes the error about a configuration file that only junction host import can
// read. It adds the command that imports the file.
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

// Input asks the user for a value that a configuration file requests. It returns the default if the
// user types nothing.
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

// OpenJournal returns the journal of the changes to the configuration files of hosts.
func OpenJournal(p place.Place) (hostconfig.Journal, error) {
	folder, err := p.State("taps")
	return hostconfig.Journal{Folder: folder}, err
}

// withoutConnected returns the entries except those that junction host connect added to a host's
// file. Such an entry starts this configuration again.
func (l *Launcher) withoutConnected(entries []Entry) []Entry {
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == hostconfig.OwnName }) {
		return entries
	}
	journal, err := OpenJournal(l.Place)
	if err != nil {
		return entries
	}
	records, _ := journal.Records() // an unreadable journal has no records, so all entries stay
	return slices.DeleteFunc(entries, func(e Entry) bool {
		return e.Name == hostconfig.OwnName && IsConnected(l.Place, records, e.Definition.Source)
	})
}

// IsConnected reports whether junction host connect changed the file at path.
func IsConnected(p place.Place, records []*hostconfig.Record, path string) bool {
	return slices.ContainsFunc(records, func(r *hostconfig.Record) bool { return r.Connected && r.Path == p.Real(path) })
}

// Settings returns the settings of the configuration, which are never nil, and the path of their
// file. Only the first file with settings counts. Settings of a project count only if --config
// names the file. It prints a line about unused settings.
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
	for _, name := range slices.Sorted(maps.Keys(found.Servers)) { // an invalid sandbox would otherwise end the server only at a reload
		if s := found.Servers[name].Sandbox; s == nil {
			continue
		} else if err := ProfileOf(s).Check(); err != nil {
			return nil, "", fmt.Errorf("%s: servers.%s.sandbox: %w", l.Place.Short(from), name, err)
		}
	}
	return found, from, nil
}

// QuietSettings is like [Launcher.Settings], but prints nothing and does not check sandboxes.
func (l *Launcher) QuietSettings(set *config.Set) (*settings.Settings, string, error) {
	for _, f := range set.Files {
		if s, file, err := f.Settings(); err != nil {
			return nil, "", err
		} else if s != nil && (len(l.Config) > 0 || !f.Project) {
			return s, file.Path, nil
		}
	}
	return &settings.Settings{}, "", nil
}

// members returns the names of the settings that s has.
func members(s *settings.Settings) []string {
	var set map[string]json.RawMessage
	data, err := json.Marshal(s)
	if err != nil || json.Unmarshal(data, &set) != nil {
		return nil // does not occur: strings and numbers always encode
	}
	return slices.Sorted(maps.Keys(set))
}
