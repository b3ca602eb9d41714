package reach

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/dial"
	"github.com/junction-mcp/junction/state/replicas"
)

// StateKeys reads the state keys of settings from their places. from is the file of the settings.
func StateKeys(ctx context.Context, a *cli.App, s *settings.Settings, from string) (keys [][]byte, err error) {
	for i, text := range s.StateKeys {
		if text, err = secretText(ctx, a, text, from); err != nil {
			return nil, fmt.Errorf("%s: junction.stateKeys[%d]: %w", a.Short(from), i, err)
		}
		keys = append(keys, []byte(text))
	}
	if err := settings.CheckStateKeys(keys); err != nil {
		return nil, fmt.Errorf("%s: junction.%w", a.Short(from), err)
	}
	return keys, nil
}

// secretText returns the text that a setting refers to, or the setting itself if it is not a
// reference. Neither appears in logs and recordings.
func secretText(ctx context.Context, a *cli.App, text, from string) (string, error) {
	if kind, name := settings.Reference(text); kind != "" {
		return Referenced(ctx, a, kind, name, from)
	}
	a.Launch.Hide(text)
	return text, nil
}

// UseShared opens the store that replicas share, if the settings name one. Logins, keys, users and
// approvals are then there. keys are the state keys.
func UseShared(ctx context.Context, a *cli.App, s *settings.Settings, from string, keys [][]byte) error {
	if s.StoreURL() == "" {
		return nil
	}
	fail := func(err error) error { return fmt.Errorf("%s: junction.state.url: %w", a.Short(from), err) }
	store, err := openShared(ctx, a, s, from)
	if err != nil {
		return fail(err)
	}
	g := replicas.New(store, a.Logger())
	a.Launch.AtEnd(g)
	if err := a.Launch.UseShared(ctx, g, keys); err != nil {
		return fail(err)
	}
	return nil
}

// UseConfiguredShared is [UseShared] for commands that read the configuration for nothing else.
func UseConfiguredShared(ctx context.Context, a *cli.App) error {
	set, _, err := ConfiguredServers(a)
	if err != nil {
		return err
	}
	s, from, err := a.Launch.QuietSettings(set)
	if err != nil || s.StoreURL() == "" {
		return err
	}
	keys, err := StateKeys(ctx, a, s, from)
	if err != nil {
		return err
	}
	return UseShared(ctx, a, s, from, keys)
}

// openShared opens the store that the settings name.
func openShared(ctx context.Context, a *cli.App, s *settings.Settings, from string) (state.Shared, error) {
	url, err := secretText(ctx, a, s.StoreURL(), from)
	if err != nil {
		return nil, err
	}
	if path, is := strings.CutPrefix(url, "sqlite:"); is {
		url = "sqlite:" + NextTo(from, path)
	}
	if strings.HasPrefix(url, "memory:") {
		return nil, errors.New("memory is of one process; give postgres://, valkey:// or sqlite:PATH")
	}
	return dial.Open(ctx, url, dial.Options{})
}

// CheckShared returns an error if the store that the settings name cannot be opened.
func CheckShared(ctx context.Context, a *cli.App, s *settings.Settings, from string) error {
	if s.StoreURL() == "" {
		return nil
	}
	store, err := openShared(ctx, a, s, from)
	if err != nil {
		return fmt.Errorf("%s: junction.state.url: %w", a.Short(from), err)
	}
	return store.Close()
}

// Keys opens the API keys of this installation, or those in the shared store that is in use.
func Keys(ctx context.Context, a *cli.App) (*apikey.Keys, error) {
	if g := a.Launch.Shared(); g != nil {
		return apikey.OpenShared(ctx, g)
	}
	return cli.OpenState(a.Place, "keys.json", apikey.Open)
}

// Users opens the list of users of this installation, or that in the shared store that is in use.
func Users(ctx context.Context, a *cli.App) (*authserver.Users, error) {
	if g := a.Launch.Shared(); g != nil {
		return authserver.OpenSharedUsers(ctx, g)
	}
	return cli.OpenState(a.Place, "users.json", authserver.OpenUsers)
}

// Pins opens the list of definitions that the user approved, or that in the shared store that is in
// use.
func Pins(ctx context.Context, a *cli.App) (*guard.Pins, error) {
	if g := a.Launch.Shared(); g != nil {
		return guard.LoadShared(ctx, g)
	}
	return cli.Pins(a.Place)
}
