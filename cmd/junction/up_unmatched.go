package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/policy"
)

// An offering are the names of what one server offers.
type offering struct {
	tools, prompts               []string          // that the server gives
	exposed                      map[string]string // names that clients may know its tools by, and which tool each is
	exposedTools, exposedPrompts []string          // all such names
}

// offeringOf reads the names of a server's definitions. Names for clients are those that its settings make, whether or
// not rules or another server keep them from being used.
func offeringOf(server string, d *definitions.Definitions, s settings.Server) *offering {
	o := &offering{tools: namesOf(d.Tools), prompts: namesOf(d.Prompts), exposed: map[string]string{}}
	public := func(name, renamed string) []string {
		names := []string{server + gateway.Separator + name}
		switch {
		case s.Prefix != nil && *s.Prefix == "":
			names = append(names, name)
		case s.Prefix != nil:
			names = append(names, *s.Prefix+gateway.Separator+name)
		}
		if renamed != "" {
			names = append(names, renamed)
		}
		return names
	}
	for _, tool := range o.tools {
		for _, name := range public(tool, s.Tools[tool].Name) {
			o.exposed[name] = tool
		}
	}
	o.exposedTools = slices.Sorted(maps.Keys(o.exposed))
	for _, prompt := range o.prompts {
		o.exposedPrompts = append(o.exposedPrompts, public(prompt, s.Prompts[prompt].Name)...)
	}
	return o
}

// namesOf are the names in a list of definitions.
func namesOf(list []json.RawMessage) (names []string) {
	for _, raw := range list {
		if name, ok := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); ok {
			names = append(names, name)
		}
	}
	return names
}

// A vocabulary says which names rules and settings can use.
type vocabulary struct {
	servers []string             // that are configured
	known   map[string]*offering // of those whose definitions are known
}

// unknownServer says that a rule is for a server that there is not; empty if it is not.
func (w *vocabulary) unknownServer(r *policy.Rule) string {
	names := slices.Concat(w.servers, cli.ShippedNames(), []string{host.OwnServer})
	if r.Server == "" || slices.ContainsFunc(names, r.MatchesServer) {
		return ""
	}
	return fmt.Sprintf("no server %q is configured here%s", plaintext.Line(r.Server, 80), cli.OrMeant(nearest.Name(r.Server, w.servers)))
}

// unknownTool says that a rule names a tool that none of its servers has; empty if it does not, or the tools of one
// are not known.
func (w *vocabulary) unknownTool(r *policy.Rule) string {
	if strings.Trim(r.Tool, "*") == "" {
		return ""
	}
	var servers, tools, own []string
	for _, name := range w.servers {
		if !r.MatchesServer(name) {
			continue
		}
		o := w.known[name]
		if o == nil || slices.ContainsFunc(o.tools, r.MatchesTool) {
			return ""
		}
		servers, tools = append(servers, name), append(tools, o.tools...)
		for _, exposed := range o.exposedTools {
			if r.MatchesTool(exposed) {
				own = append(own, o.exposed[exposed])
			}
		}
	}
	if len(servers) == 0 {
		return ""
	}
	of := "any server here"
	if len(servers) == 1 {
		of = fmt.Sprintf("server %q", plaintext.Line(servers[0], 80))
	}
	said := fmt.Sprintf("no tool of %s is called %q", of, plaintext.Line(r.Tool, 80))
	if len(own) > 0 {
		return said + "; rules want the name that the server gives" + cli.OrMeant(own...)
	}
	return said + cli.OrMeant(nearest.Name(r.Tool, tools))
}

// unmatchedRules say which rules can never match, each with its place.
func (w *vocabulary) unmatchedRules(rules []policy.Rule) (lines []string) {
	for i := range rules {
		r := &rules[i]
		for _, fault := range []string{w.unknownServer(r), w.unknownTool(r)} {
			if fault != "" {
				lines = append(lines, r.String()+": "+fault)
			}
		}
	}
	return lines
}

// unmatchedSettings say what of settings is for nothing that the servers have.
func (w *vocabulary) unmatchedSettings(s *settings.Settings) (lines []string) {
	say := func(at, format string, args ...any) {
		lines = append(lines, "junction."+at+": "+fmt.Sprintf(format, args...))
	}
	for _, name := range slices.Sorted(maps.Keys(w.known)) {
		own, o, at := s.Servers[name], w.known[name], "servers."+name
		for _, tool := range slices.Sorted(maps.Keys(own.Tools)) {
			if !slices.Contains(o.tools, tool) {
				say(at+".tools", "the server has no tool %q%s", tool, o.likely(tool))
			}
		}
		for _, prompt := range slices.Sorted(maps.Keys(own.Prompts)) {
			if !slices.Contains(o.prompts, prompt) {
				say(at+".prompts", "the server has no prompt %q%s", prompt, cli.OrMeant(nearest.Name(prompt, o.prompts)))
			}
		}
		for list, patterns := range map[string][]string{"only": own.Only, "hide": own.Hide} {
			for _, text := range settings.Unmatched(patterns, o.tools, o.prompts, own.AllTags()) {
				say(at+"."+list, "%q matches nothing that the server has%s", text, o.likely(text))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Profiles)) {
		p := s.Profiles[name]
		var tools, prompts, tags []string
		complete := true
		for _, server := range w.servers {
			if len(p.Servers) > 0 && !slices.Contains(p.Servers, server) {
				continue
			}
			o, own := w.known[server], s.Servers[server]
			if o == nil {
				complete = false
				break
			}
			tools, prompts, tags = append(tools, o.exposedTools...), append(prompts, o.exposedPrompts...), append(tags, own.AllTags()...)
		}
		if !complete {
			continue
		}
		for list, patterns := range map[string][]string{"only": p.Only, "hide": p.Hide} {
			for _, text := range settings.Unmatched(patterns, tools, prompts, tags) {
				say("profiles."+name+"."+list, "%q matches no name that clients see of what its servers have%s", text, cli.OrMeant(nearest.Name(text, tools)))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// likely asks whether a tool was meant that has the name for clients, or nearly.
func (o *offering) likely(tool string) string {
	if own := o.exposed[tool]; own != "" {
		return "; the name that the server gives is wanted" + cli.OrMeant(own)
	}
	return cli.OrMeant(nearest.Name(tool, o.tools))
}

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
func (v *served) reportUnmatched() {
	now := v.layers.now.Load()
	u := &v.unmatched
	u.mu.Lock()
	defer u.mu.Unlock()
	w := &vocabulary{servers: u.servers, known: map[string]*offering{}}
	for _, name := range u.servers {
		d, tools, prompts := v.gateway.Definitions(name)
		if d == nil {
			continue
		}
		o := offeringOf(name, d, now.settings.Servers[name])
		o.exposedTools, o.exposedPrompts = append(o.exposedTools, slices.Sorted(maps.Keys(tools))...), append(o.exposedPrompts, slices.Sorted(maps.Keys(prompts))...)
		maps.Copy(o.exposed, tools)
		w.known[name] = o
	}
	var lines []string
	for _, profile := range slices.Sorted(maps.Keys(now.books)) {
		for _, f := range now.books[profile].files {
			lines = append(lines, w.unmatchedRules(f.Rules)...)
		}
	}
	for _, line := range w.unmatchedSettings(now.settings) {
		lines = append(lines, v.app.Short(u.from)+": "+line)
	}
	said := map[string]bool{}
	for _, line := range lines {
		if !u.said[line] && !said[line] {
			v.app.Screen.Printf("junction: %s\n", line)
		}
		said[line] = true
	}
	if len(w.known) < len(u.servers) { // what was said of others may hold still
		maps.Copy(said, u.said)
	}
	u.said = said // without what was mended, which is said when it is there again
}
