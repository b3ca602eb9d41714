package up

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/nearest"
)

// reportUnknown prints the lines of unknown.
func reportUnknown(a *cli.App, s *settings.Settings, from string, configured []string) {
	for _, line := range unknown(s, configured) {
		a.Screen.Printf("junction: %s: %s\n", a.Short(from), line)
	}
}

// unknown returns lines about names in the settings that do not exist: of servers and profiles.
// Otherwise a typing error in them would have no visible effect.
func unknown(s *settings.Settings, configured []string) (lines []string) {
	servers, profiles := append(slices.Clone(configured), cli.ShippedNames()...), slices.Sorted(maps.Keys(s.Profiles))
	check := func(at, kind, name string, known []string) {
		if !slices.Contains(known, name) {
			lines = append(lines, fmt.Sprintf("junction.%s: there is no %s %q%s", at, kind, name, cli.Suggestion(nearest.Name(name, known))))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		check("servers", "server", name, servers)
	}
	for _, profile := range profiles {
		for _, name := range s.Profiles[profile].Servers {
			check("profiles."+profile+".servers", "server", name, servers)
		}
	}
	for _, role := range slices.Sorted(maps.Keys(s.Roles)) {
		for _, name := range s.Roles[role].Profiles {
			check("roles."+role+".profiles", "profile", name, profiles)
		}
	}
	return lines
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
