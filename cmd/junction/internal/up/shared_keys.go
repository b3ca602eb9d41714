package up

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
)

// sharedKeys holds the state keys of the settings, which replicas share. A nil sharedKeys holds
// none. It is safe for concurrent use.
type sharedKeys struct{ keys atomic.Pointer[[][]byte] }

// newSharedKeys returns the holder of some keys, or nil without a key.
func newSharedKeys(keys [][]byte) *sharedKeys {
	if len(keys) == 0 {
		return nil
	}
	s := new(sharedKeys)
	s.keys.Store(&keys)
	return s
}

func (s *sharedKeys) all() [][]byte { return *s.keys.Load() }

// replace puts other keys into use. Keys where none were, and none where some were, wait for a
// restart.
func (s *sharedKeys) replace(keys [][]byte) {
	if s != nil && len(keys) > 0 {
		s.keys.Store(&keys)
	}
}

// sharedKeys reads the state keys of settings from their places. from is the file of the settings.
// Standard input and output need no keys.
func (o *Options) sharedKeys(ctx context.Context, a *cli.App, s *settings.Settings, from string) (keys [][]byte, err error) {
	if o.Stdio {
		return nil, nil
	}
	for i, text := range s.StateKeys {
		if kind, name := settings.Reference(text); kind != "" {
			if text, err = reach.Referenced(ctx, a, kind, name, from); err != nil {
				return nil, fmt.Errorf("%s: junction.stateKeys[%d]: %w", a.Short(from), i, err)
			}
		} else {
			a.Launch.Hide(text)
		}
		keys = append(keys, []byte(text))
	}
	if err := settings.CheckStateKeys(keys); err != nil {
		return nil, fmt.Errorf("%s: junction.%w", a.Short(from), err)
	}
	return keys, nil
}

// keyFiles returns the files with state keys.
func keyFiles(s *settings.Settings, from string) (files []string) {
	for _, text := range s.StateKeys {
		if kind, name := settings.Reference(text); kind == "file" {
			files = append(files, reach.NextTo(from, name))
		}
	}
	return files
}
