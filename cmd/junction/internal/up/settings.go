package up

import (
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

// Settled returns the settings with the flags applied, and the times of the drain.
func (o *Options) Settled(s *settings.Settings) (*settings.Settings, Drain, error) {
	merged, err := o.Flags.Apply(s)
	if err != nil {
		return nil, o.drain, err
	}
	if given := o.Flags.Set.Changed; given("no-prefix") && (o.NoPrefix || s.Names == "none") {
		merged.Names = map[bool]string{true: "none"}[o.NoPrefix]
	}
	if o.Stdio { // as the one client is a program of this user
		merged.Roles = nil
	}
	ends := o.Drains(s.Drain)
	merged.Drain = &settings.Drain{Delay: &ends.Delay, Time: &ends.Time}
	return merged, ends, policies.CheckProfile(s, o.profile)
}

// Drains returns the times of the drain from the flags or, without a flag, from the settings.
func (o *Options) Drains(s *settings.Drain) Drain {
	d, given := o.drain, o.Flags.Set.Changed
	if o.Admin != "" && !given("drain-delay") { // clients of --admin can check readiness
		d.Delay = DefaultDrainDelay
	}
	if s != nil && s.Delay != nil && !given("drain-delay") {
		d.Delay = *s.Delay
	}
	if s != nil && s.Time != nil && !given("drain-time") {
		d.Time = *s.Time
	}
	return d
}
