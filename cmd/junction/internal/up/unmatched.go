package up

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/policy"
)

// unmatched holds the reported rules and settings that match nothing.
type unmatched struct {
	mu      sync.Mutex
	servers []string // names of the configured servers
	from    string   // file of the settings
	said    map[string]bool
}

// configured sets the current servers and the file of the settings.
func (u *unmatched) configured(servers []string, from string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.servers, u.from = servers, from
}

// unknownRoles returns a line for each rule that asks a role that does not exist.
func unknownRoles(rules []policy.Rule, roles map[string]settings.Role) (lines []string) {
	for i := range rules {
		if a, asks := rules[i].Approval(); asks {
			if _, exists := roles[a.Role]; !exists {
				lines = append(lines, fmt.Sprintf("%s: there is no role %q here, so only you can approve its calls: junction policy approvals%s", rules[i].String(), a.Role, cli.Suggestion(nearest.Name(a.Role, slices.Sorted(maps.Keys(roles))))))
			}
		}
	}
	return lines
}

// reportUnmatched prints the rules and settings that match nothing of the known definitions, each
// once. Otherwise a typing error in them would have no visible effect.
func (v *Served) reportUnmatched() {
	now := v.Gateway.Layers().Plan()
	u := &v.unmatched
	u.mu.Lock()
	defer u.mu.Unlock()
	w := &reach.Vocabulary{Servers: u.servers, Known: map[string]*reach.Offering{}}
	for _, name := range u.servers {
		d, tools, prompts := v.Gateway.Members().Definitions(name)
		if d == nil {
			continue
		}
		o := reach.NewOffering(name, d, now.Settings.Servers[name])
		o.ExposedTools, o.ExposedPrompts = append(o.ExposedTools, slices.Sorted(maps.Keys(tools))...), append(o.ExposedPrompts, slices.Sorted(maps.Keys(prompts))...)
		maps.Copy(o.Exposed, tools)
		w.Known[name] = o
	}
	var lines []string
	for _, profile := range slices.Sorted(maps.Keys(now.Books)) {
		for _, f := range now.Books[profile].Files {
			lines = append(lines, w.UnmatchedRules(f.Rules)...)
			lines = append(lines, unknownRoles(f.Rules, now.Settings.Roles)...)
		}
	}
	for _, line := range w.UnmatchedSettings(now.Settings) {
		lines = append(lines, v.App.Short(u.from)+": "+line)
	}
	said := map[string]bool{}
	for _, line := range lines {
		if !u.said[line] && !said[line] {
			v.App.Screen.Printf("junction: %s\n", line)
		}
		said[line] = true
	}
	if len(w.Known) < len(u.servers) { // reports about the other servers may still be true
		maps.Copy(said, u.said)
	}
	u.said = said // drops lines about corrected faults, so that they are printed again if they return
}
