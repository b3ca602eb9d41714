package up

import (
	"cmp"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/nearest"
)

// reportUnknown prints names of servers in the settings that are not configured. Otherwise a typing
// error in them would have no visible effect.
func reportUnknown(a *cli.App, s *settings.Settings, from string, configured []string) {
	known := append(slices.Clone(configured), cli.ShippedNames()...)
	report := func(at, name string) {
		if slices.Contains(known, name) {
			return
		}
		a.Screen.Printf("junction: %s: junction.%s: there is no server %q%s\n", a.Short(from), at, name, cli.Suggestion(nearest.Name(name, known)))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		report("servers", name)
	}
	profiles := slices.Sorted(maps.Keys(s.Profiles))
	for _, profile := range profiles {
		for _, name := range s.Profiles[profile].Servers {
			report("profiles."+profile+".servers", name)
		}
	}
	for _, role := range slices.Sorted(maps.Keys(s.Roles)) {
		for _, name := range s.Roles[role].Profiles {
			if !slices.Contains(profiles, name) {
				a.Screen.Printf("junction: %s: junction.roles.%s.profiles: there is no profile %q%s\n", a.Short(from), role, name, cli.Suggestion(nearest.Name(name, profiles)))
			}
		}
	}
}

// Settle returns the settings of the file from with the flags applied, and the front that they make.
func (o *Options) Settle(s *settings.Settings, from string) (*settings.Settings, Front, error) {
	f := o.Front
	if o.Stdio { // as the one client is a program of this user
		own := *s
		own.Listen, own.Auth, own.Roles = settings.Listen{}, nil, nil
		s = &own
	}
	merged, err := o.Flags.Apply(s)
	if err != nil {
		return nil, f, err
	}
	if given := o.Flags.Set.Changed; given("no-prefix") && (o.NoPrefix || s.Names == "none") {
		merged.Names = map[bool]string{true: "none"}[o.NoPrefix]
	}
	if !o.Stdio {
		merged.Listen.HTTP = cmp.Or(merged.Listen.HTTP, DefaultAddress)
	}
	f.take(merged, from)
	merged.Drain = &settings.Drain{Delay: &f.drain.Delay, Time: &f.drain.Time}
	return merged, f, cmp.Or(f.check(), policies.CheckProfile(s, o.profile))
}
