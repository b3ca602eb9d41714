package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/sandbox"
)

// A KeptProfile is what a server may do, and where that is written.
type KeptProfile struct {
	Entry   cli.Entry
	Profile *sandbox.Profile // nil: it is not confined
	Weaker  bool
	file    string                // that has it, or would have it
	Locked  *install.LockedServer // that has it; nil: it is in the settings
}

// profileKept finds the profile of a server: in the person's settings, which come first, or in junction.lock.
func profileKept(a *cli.App, set *config.Set, e cli.Entry) (*KeptProfile, error) {
	if e.Definition == nil || !launch.IsProgram(e.Definition.Kind) {
		return nil, fmt.Errorf("server %q is not started by a command: there is no program that could be confined here", e.Name)
	}
	k := &KeptProfile{Entry: e}
	s, err := e.Sandbox()
	if err != nil {
		return nil, err
	}
	locked, err := a.Launch.Locked(e.Definition)
	if err != nil {
		return nil, err
	}
	switch {
	case s != nil:
		p := launch.ProfileOf(s)
		k.Profile, k.Weaker = &p, s.Weaker
	case locked != nil && locked.Package != nil:
		k.Profile, k.Locked, k.file = locked.Sandbox, locked, install.LockPath(a.Real(e.Definition.Source))
		return k, nil
	}
	k.file, err = settingsFileOf(a, set, e)
	return k, err
}

// settingsFileOf is the file whose settings hold for a server: the first that has some; else the one that defines it, if it is
// Junction's own and the person's, or else a junction.json next to that.
func settingsFileOf(a *cli.App, set *config.Set, e cli.Entry) (string, error) {
	isNamed := len(a.Flags.Config) > 0
	for _, f := range set.Files {
		if s, from, err := f.Settings(); err == nil && s != nil && (isNamed || !f.Project) {
			return from.Path, nil
		}
	}
	if e.Definition.Project && !isNamed { // whose settings would not count
		folder, err := a.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("your configuration folder is not known: %w", err)
		}
		return filepath.Join(folder, "junction", "mcp.json"), nil
	}
	source := a.Real(e.Definition.Source)
	if base := filepath.Base(source); base == "junction.json" || base == "mcp.json" && filepath.Base(filepath.Dir(source)) == "junction" {
		return source, nil
	}
	return filepath.Join(filepath.Dir(source), "junction.json"), nil
}

// where says where a profile is, for people.
func (k *KeptProfile) where(p place.Place) string {
	if k.Locked != nil {
		return p.Short(k.file)
	}
	return fmt.Sprintf("junction.servers.%s.sandbox in %s", k.Entry.Name, p.Short(k.file))
}

// lockChanges has no other process change a configuration or what is locked, so that what was read before is what is written over.
func lockChanges(ctx context.Context, a *cli.App) (unlock func(), err error) {
	mutex, err := a.State("install.mutex")
	if err != nil {
		return nil, err
	}
	return filelock.Wait(ctx, mutex)
}

// write keeps a profile where the old one is, under the lock of lockChanges, under which the old one was read.
func (k *KeptProfile) write(ctx context.Context, a *cli.App, now sandbox.Profile) error {
	if err := now.Check(); err != nil {
		return fmt.Errorf("server %q: %w", k.Entry.Name, err)
	}
	if k.Locked != nil {
		locked := *k.Locked
		locked.Sandbox, locked.Next = &now, nil
		defer a.Launch.Locks.Forget(k.Entry.Definition.Source)
		return install.Change{
			Configuration: filename.Real(k.Entry.Definition.Source), Name: k.Entry.Name, Words: k.Entry.Definition.Words(), Locked: &locked,
			Edit: func(data []byte) ([]byte, error) { return data, nil },
		}.Apply(ctx)
	}
	file := filename.Real(k.file) // a link to it stays one
	data, mode, err := readOrNothing(file)
	if err != nil {
		return err
	}
	edited, err := k.edited(data, now)
	if err != nil {
		return fmt.Errorf("%s: %w", k.file, err)
	}
	if bytes.Equal(edited, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := filelock.Replace(file, edited, mode); err != nil {
		return fmt.Errorf("write %s: %w", k.file, err)
	}
	return nil
}

func readOrNothing(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	data, err := os.ReadFile(path) // which was read within its limit before, if it is a configuration
	return data, info.Mode().Perm(), err
}

// edited is the settings file with a profile, in which only what differs is written.
func (k *KeptProfile) edited(data []byte, now sandbox.Profile) ([]byte, error) {
	path := []string{"junction", "servers", k.Entry.Name, "sandbox"}
	if k.Profile == nil {
		text, err := json.Marshal(launch.SettingsOf(now))
		if err != nil {
			return nil, err
		}
		return hostconfig.SetMember(data, path, text)
	}
	was, err := rawMembers(launch.SettingsOf(*k.Profile))
	if err != nil {
		return nil, err
	}
	is, err := rawMembers(launch.SettingsOf(now))
	if err != nil {
		return nil, err
	}
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if bytes.Equal(was[name], is[name]) {
			continue
		}
		if data, err = hostconfig.SetMember(data, append(slices.Clone(path), name), is[name]); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func rawMembers(s settings.Sandbox) (m map[string]json.RawMessage, err error) {
	data, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m, err
}
