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

// A StoredProfile is the profile of a server and the place where it is stored.
type StoredProfile struct {
	Entry   launch.Entry
	Profile *sandbox.Profile // nil if the server is not confined
	Weaker  bool
	file    string                // file of the profile; without a profile, the file to write one to
	Locked  *install.LockedServer // lock that has the profile; nil if the settings have it
}

// profileKept returns the profile of a server from the user's settings, or else from junction.lock.
func profileKept(a *cli.App, set *config.Set, e launch.Entry) (*StoredProfile, error) {
	if e.Definition == nil || !launch.IsProgram(e.Definition.Kind) {
		return nil, fmt.Errorf("server %q is not started by a command, so it has no program to confine here", e.Name)
	}
	k := &StoredProfile{Entry: e}
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

// settingsFileOf returns the file for the settings of a server: the first file that has settings.
// Without such a file, a server of a project has its settings in the user's own file. The settings
// of any other server are in the file that defines it, if that is Junction's own file, or in a
// junction.json in the same folder.
func settingsFileOf(a *cli.App, set *config.Set, e launch.Entry) (string, error) {
	isNamed := len(a.Launch.Config) > 0
	for _, f := range set.Files {
		if s, from, err := f.Settings(); err == nil && s != nil && (isNamed || !f.Project) {
			return from.Path, nil
		}
	}
	if e.Definition.Project && !isNamed { // settings in the project would have no effect
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

// where describes the place of a profile.
func (k *StoredProfile) where(p place.Place) string {
	if k.Locked != nil {
		return p.Short(k.file)
	}
	return fmt.Sprintf("junction.servers.%s.sandbox in %s", k.Entry.Name, p.Short(k.file))
}

// lockChanges prevents changes of configurations and locks by other processes between a read and a
// write. The caller must call unlock.
func lockChanges(ctx context.Context, a *cli.App) (unlock func(), err error) {
	mutex, err := a.State("install.mutex")
	if err != nil {
		return nil, err
	}
	return filelock.Wait(ctx, mutex)
}

// write replaces the stored profile. The caller must hold the lock of [lockChanges] since it read
// the old profile.
func (k *StoredProfile) write(ctx context.Context, a *cli.App, now sandbox.Profile) error {
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
	file := filename.Real(k.file) // a link stays a link
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

// readOrNothing reads a file and its mode. A file that does not exist is empty.
func readOrNothing(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err
	}
	data, err := os.ReadFile(path) // no limit is needed, because the file has been read as a configuration
	return data, info.Mode().Perm(), err
}

// edited returns the content of the settings file with a profile. It changes only members that
// differ.
func (k *StoredProfile) edited(data []byte, now sandbox.Profile) ([]byte, error) {
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

// rawMembers returns the members of the settings of a sandbox.
func rawMembers(s settings.Sandbox) (m map[string]json.RawMessage, err error) {
	data, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m, err
}
