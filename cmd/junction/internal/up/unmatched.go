package up

import (
	"maps"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
)

// unmatched is what was said of rules and settings that nothing matches.
type unmatched struct {
	mu      sync.Mutex
	servers []string // that are configured
	from    string   // the file of the settings
	said    map[string]bool
}

// configured says what there is now.
func (u *unmatched) configured(servers []string, from string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.servers, u.from = servers, from
}

// reportUnmatched says which rules and settings nothing matches, as far as that is known now and was not said: nothing else
// would show a slip.
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
	if len(w.Known) < len(u.servers) { // what was said of others may hold still
		maps.Copy(said, u.said)
	}
	u.said = said // without what was mended, which is said when it is there again
}
