package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/registry"
	"github.com/spf13/pflag"
)

const (
	// OfficialRegistry is the registry that is searched by default.
	OfficialRegistry = "https://registry.modelcontextprotocol.io"
	// mirrorTime is the age of a local copy of a registry after which a command updates it.
	mirrorTime = time.Hour
)

// RegistryFlags holds the flags that select registries.
type RegistryFlags struct {
	Registries    []string
	sync, offline bool
}

// Define defines the flags in a flag set.
func (f *RegistryFlags) Define(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.Registries, "registry", nil, "look in this `REGISTRY` only: a URL, a folder of server.json files, or a name of the configuration (repeatable, the first one counts)")
	flags.BoolVar(&f.sync, "sync", false, "first update the copy of the registries, even if it is recent")
	flags.BoolVar(&f.offline, "offline", false, "do not contact the registries: use the copy as it is")
}

// OpenMirror opens the copy of the registries that the configuration or the command line selects.
// The copy is closed when the command ends.
func OpenMirror(ctx context.Context, a *cli.App, f RegistryFlags) (*registry.Mirror, error) {
	set, _, err := reach.ConfiguredServers(a)
	if err != nil {
		return nil, err
	}
	s, from, err := a.Launch.Settings(set)
	if err != nil {
		return nil, err
	}
	sources, err := RegistrySources(a, s.Registries, from, f.Registries)
	if err != nil {
		return nil, err
	}
	path, err := a.State("registry.db")
	if err != nil {
		return nil, err
	}
	m, err := registry.OpenMirror(ctx, path, registry.MirrorOptions{Sources: sources, OnPage: func(source string, read int) {
		a.Screen.Transient(fmt.Sprintf("junction: reading %s: %s", source, plaintext.Count(read, "version"))) // versions of servers
	}})
	if err != nil {
		return nil, err
	}
	a.Launch.AtEnd(m)
	return m, nil
}

// SyncMirror opens the copy of the registries and updates it, unless the flags forbid that. It
// prints the registries that cannot be read. It returns an error if it has no data of any registry.
func SyncMirror(ctx context.Context, a *cli.App, f RegistryFlags) (*registry.Mirror, []registry.SourceState, error) {
	if f.sync && f.offline {
		return nil, nil, cli.Usagef("--sync and --offline exclude each other; give only one")
	}
	m, err := OpenMirror(ctx, a, f)
	if err != nil {
		return nil, nil, err
	}
	if !f.offline {
		age := mirrorTime
		if f.sync {
			age = 0
		}
		err := m.Sync(ctx, age)
		a.Screen.Transient("")
		if err != nil {
			return nil, nil, err
		}
	}
	states, err := m.Sources(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range states {
		if f.offline && states[i].Synced.IsZero() {
			states[i].Fault = "" // belongs to an earlier command that tried to update
		}
	}
	return m, states, reportSources(a, states)
}

// reportSources prints the registries that could not be read, and the ages of their copies. It
// returns an error if there is no data of any registry.
func reportSources(a *cli.App, states []registry.SourceState) error {
	any := false
	var faults []error
	for _, s := range states {
		any = any || !s.Synced.IsZero() || s.Servers > 0
		switch {
		case s.Fault != "" && s.Servers > 0 && !s.Synced.IsZero():
			a.Screen.Printf("junction: %s; the copy of it is %s old\n", s.Fault, age(time.Since(s.Synced)))
		case s.Fault != "":
			faults = append(faults, errors.New(s.Fault))
			if len(states) > 1 || s.Servers > 0 {
				a.Screen.Printf("junction: %s\n", s.Fault)
			}
		case s.Synced.IsZero():
			faults = append(faults, fmt.Errorf("there is no copy of registry %s yet; run this once without --offline", s.Name))
		case s.Unread > 0:
			a.Screen.Printf("junction: %s of %s cannot be read and are left out\n", plaintext.Count(s.Unread, "version"), s.Name)
		}
	}
	if !any {
		return errors.Join(faults...)
	}
	return nil
}

// age returns a duration as text.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return "a minute"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// RegistrySources returns the registries named on the command line. Without any, it returns those
// in the settings, or else the official one. from is the file of the settings. Paths of files with
// tokens are relative to it.
func RegistrySources(a *cli.App, configured []settings.Registry, from string, named []string) ([]registry.Source, error) {
	var known []registry.Source
	for _, r := range configured {
		known = append(known, configuredSource(a, r, from))
	}
	official := registry.Source{Name: "official", URL: OfficialRegistry}
	if len(named) == 0 {
		if len(known) == 0 {
			known = []registry.Source{official}
		}
		return known, nil
	}
	var sources []registry.Source
	for _, word := range named {
		i := slices.IndexFunc(known, func(s registry.Source) bool {
			return s.Name == word || s.URL != "" && s.URL == strings.TrimRight(word, "/")
		})
		switch info, err := os.Stat(a.Path(word)); {
		case i >= 0:
			sources = append(sources, known[i])
		case word == official.Name:
			sources = append(sources, official)
		case strings.Contains(word, "://"):
			sources = append(sources, registry.Source{Name: hostOf(word), URL: strings.TrimRight(word, "/")})
		case err == nil && info.IsDir():
			sources = append(sources, registry.Source{Name: filepath.Base(filepath.Clean(word)), Folder: a.Path(word)})
		default:
			return nil, cli.Usagef("--registry %s: expected a URL, a folder, or a name of registries of the configuration", word)
		}
	}
	return sources, nil
}

// configuredSource returns the source for a registry in the settings.
func configuredSource(a *cli.App, r settings.Registry, from string) registry.Source {
	if r.Folder != "" {
		return registry.Source{Name: cmp.Or(r.Name, filepath.Base(filepath.Clean(r.Folder))), Folder: r.Folder}
	}
	s := registry.Source{Name: cmp.Or(r.Name, hostOf(r.URL)), URL: strings.TrimRight(r.URL, "/")}
	if kind, name := r.TokenIn(); kind != "" {
		s.Token = func(ctx context.Context) (string, error) { return reach.Referenced(ctx, a, kind, name, from) }
	}
	return s
}

// hostOf returns the host of a URL. It returns the text unchanged if it is not a URL.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Host
}
