package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/launch"
)

// readSettings are what the configuration says of up, with the file that says it; never nil. Those of a project
// count where the command line names its file. Only the first file that has some counts.
func readSettings(a *cli.App, set *config.Set) (*settings.Settings, string, error) {
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
	for _, name := range slices.Sorted(maps.Keys(found.Servers)) { // a server that cannot be confined would end, and not start again
		if s := found.Servers[name].Sandbox; s == nil {
			continue
		} else if err := launch.ProfileOf(s).Check(); err != nil {
			return nil, "", fmt.Errorf("%s: servers.%s.sandbox: %w", a.Short(from), name, err)
		}
	}
	return found, from, nil
}

// quietSettings are those that [app.settings] finds, but of others that are not used it says nothing.
func quietSettings(set *config.Set, named bool) (*settings.Settings, error) {
	for _, f := range set.Files {
		if s, _, err := f.Settings(); err != nil {
			return nil, err
		} else if s != nil && (named || !f.Project) {
			return s, nil
		}
	}
	return &settings.Settings{}, nil
}

// members are the names of what is set.
func members(s *settings.Settings) []string {
	var set map[string]json.RawMessage
	data, err := json.Marshal(s)
	if err != nil || json.Unmarshal(data, &set) != nil {
		return nil // texts and numbers always encode
	}
	return slices.Sorted(maps.Keys(set))
}

// reportUnknown says which servers the settings name that there are not: nothing else would show a slip.
func reportUnknown(a *cli.App, s *settings.Settings, from string, configured []string) {
	known := append(slices.Clone(configured), cli.ShippedNames()...)
	report := func(at, name string) {
		if slices.Contains(known, name) {
			return
		}
		a.Screen.Printf("junction: %s: junction.%s: there is no server %q%s\n", a.Short(from), at, name, cli.OrMeant(nearest.Name(name, known)))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		report("servers", name)
	}
	for _, profile := range slices.Sorted(maps.Keys(s.Profiles)) {
		for _, name := range s.Profiles[profile].Servers {
			report("profiles."+profile+".servers", name)
		}
	}
}

// settled returns the settings with what flags set in them, and how long it takes to end.
func (o *upOptions) settled(s *settings.Settings) (*settings.Settings, drain, error) {
	merged, err := o.flags.apply(s)
	if err != nil {
		return nil, o.drain, err
	}
	if given := o.flags.set.Changed; given("no-prefix") && (o.noPrefix || s.Names == "none") {
		merged.Names = map[bool]string{true: "none"}[o.noPrefix]
	}
	ends := o.drains(s.Drain)
	merged.Drain = &settings.Drain{Delay: &ends.delay, Time: &ends.time}
	return merged, ends, checkProfile(s, o.profile)
}

// drains returns how long it takes to end: as a flag says, or else the settings.
func (o *upOptions) drains(s *settings.Drain) drain {
	d, given := o.drain, o.flags.set.Changed
	if o.admin != "" && !given("drain-delay") { // somebody can ask whether it is ready
		d.delay = defaultDrainDelay
	}
	if s != nil && s.Delay != nil && !given("drain-delay") {
		d.delay = *s.Delay
	}
	if s != nil && s.Time != nil && !given("drain-time") {
		d.time = *s.Time
	}
	return d
}

// nextTo is a path that a file names.
func nextTo(file, named string) string {
	if named == "" || filepath.IsAbs(named) {
		return named
	}
	return filepath.Join(filepath.Dir(file), named)
}

// conflicts are the words of [settings.Settings] for what becomes of a name that two servers give.
func conflicts(word string) gateway.Conflicts {
	return map[string]gateway.Conflicts{"priority": gateway.First, "error": gateway.Refuse}[word] // else gateway.Suffix
}

// apply has the settings of a server say how the gateway holds it.
func apply(u *gateway.Upstream, s settings.Server) {
	if s.Prefix != nil {
		u.Prefix, u.NoPrefix = *s.Prefix, *s.Prefix == ""
	}
	switch s.Isolation {
	case "user":
		u.Isolation = gateway.PerUser
	case "client":
		u.Isolation = gateway.PerClient
	}
	u.MaxInstances, u.IdleTime = s.Instances, s.Idle
	u.Names, u.PromptNames = map[string]string{}, map[string]string{}
	for name, t := range s.Tools {
		u.Names[name] = t.Name
	}
	for name, p := range s.Prompts {
		u.PromptNames[name] = p.Name
	}
}

// inProfile marks what a request came to; the whole gateway is the empty name.
type inProfile struct{}

func profileOf(ctx context.Context) string {
	name, _ := ctx.Value(inProfile{}).(string)
	return name
}
