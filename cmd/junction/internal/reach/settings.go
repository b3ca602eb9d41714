package reach

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/launch"
)

// ReadSettings returns the settings in the configuration, never nil, and the path of their file.
// Only the first file with settings counts; those of a project count only if --config names its
// file. It prints which settings are not used.
func ReadSettings(a *cli.App, set *config.Set) (*settings.Settings, string, error) {
	var found *settings.Settings
	var from string
	a.Unheld = nil
	for _, f := range set.Files {
		s, file, err := f.Settings()
		switch {
		case err != nil:
			return nil, "", err
		case s == nil:
		case f.Project && len(a.Flags.Config) == 0:
			a.Unheld = append(a.Unheld, fmt.Sprintf("what %s says under \"junction\" (%s), as it belongs to a project; --config %s uses it",
				a.Short(file.Path), strings.Join(members(s), ", "), a.Short(f.Path)))
			a.Screen.Printf("junction: not used: %s\n", a.Unheld[len(a.Unheld)-1])
		case found != nil:
			a.Screen.Printf("junction: what %s says under \"junction\" is not used: %s comes first\n", a.Short(file.Path), a.Short(from))
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
		} else if err := launch.ProfileOf(s).Check(); err != nil {
			return nil, "", fmt.Errorf("%s: servers.%s.sandbox: %w", a.Short(from), name, err)
		}
	}
	return found, from, nil
}

// QuietSettings is like [ReadSettings], but prints nothing and does not check sandboxes. named
// reports whether --config is set.
func QuietSettings(set *config.Set, named bool) (*settings.Settings, error) {
	for _, f := range set.Files {
		if s, _, err := f.Settings(); err != nil {
			return nil, err
		} else if s != nil && (named || !f.Project) {
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

// nextTo returns the path named in a file, relative to the file's folder.
func nextTo(file, named string) string {
	if named == "" || filepath.IsAbs(named) {
		return named
	}
	return filepath.Join(filepath.Dir(file), named)
}

// ReviewNone is the review setting with which tools are offered without a review.
const ReviewNone = "none"
