package reach

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// An Offering holds the names of a server's tools and prompts.
type Offering struct {
	tools, prompts               []string          // the server's own names
	Exposed                      map[string]string // the server's own name of a tool, by the name for clients
	ExposedTools, ExposedPrompts []string          // all names for clients
}

// NewOffering returns the names in a server's definitions. The names for clients depend on the
// settings only; rules and conflicts with other servers are ignored.
func NewOffering(server string, d *definitions.Definitions, s settings.Server) *Offering {
	o := &Offering{tools: DefinitionNames(d.Tools), prompts: DefinitionNames(d.Prompts), Exposed: map[string]string{}}
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
			o.Exposed[name] = tool
		}
	}
	o.ExposedTools = slices.Sorted(maps.Keys(o.Exposed))
	for _, prompt := range o.prompts {
		o.ExposedPrompts = append(o.ExposedPrompts, public(prompt, s.Prompts[prompt].Name)...)
	}
	return o
}

// DefinitionNames returns the names in a list of definitions.
func DefinitionNames(list []json.RawMessage) (names []string) {
	for _, raw := range list {
		if name, ok := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); ok {
			names = append(names, name)
		}
	}
	return names
}

// A Vocabulary holds the names to which rules and settings can refer.
type Vocabulary struct {
	Servers []string             // names of the configured servers
	Known   map[string]*Offering // names of servers' features, for servers whose definitions are known
}

// UnknownServer returns a message if a rule names a server that does not exist, and otherwise "".
func (w *Vocabulary) UnknownServer(r *policy.Rule) string {
	names := slices.Concat(w.Servers, cli.ShippedNames(), []string{host.OwnServer})
	if r.Server == "" || slices.ContainsFunc(names, r.MatchesServer) {
		return ""
	}
	return fmt.Sprintf("no server %q is configured here%s", plaintext.Line(r.Server, 80), cli.Suggestion(nearest.Name(r.Server, w.Servers)))
}

// UnknownTool returns a message if no server of a rule has the rule's tool. It returns "" if some
// server has the tool, or if the tools of some server are unknown.
func (w *Vocabulary) UnknownTool(r *policy.Rule) string {
	if strings.Trim(r.Tool, "*") == "" {
		return ""
	}
	var servers, tools, own []string
	for _, name := range w.Servers {
		if !r.MatchesServer(name) {
			continue
		}
		o := w.Known[name]
		if o == nil || slices.ContainsFunc(o.tools, r.MatchesTool) {
			return ""
		}
		servers, tools = append(servers, name), append(tools, o.tools...)
		for _, exposed := range o.ExposedTools {
			if r.MatchesTool(exposed) {
				own = append(own, o.Exposed[exposed])
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
		return said + "; rules use the server's own name" + cli.Suggestion(own...)
	}
	return said + cli.Suggestion(nearest.Name(r.Tool, tools))
}

// UnmatchedRules returns a line for each rule that cannot match any call.
func (w *Vocabulary) UnmatchedRules(rules []policy.Rule) (lines []string) {
	for i := range rules {
		r := &rules[i]
		for _, fault := range []string{w.UnknownServer(r), w.UnknownTool(r)} {
			if fault != "" {
				lines = append(lines, r.String()+": "+fault)
			}
		}
	}
	return lines
}

// UnmatchedSettings returns a line for each setting that names a tool or prompt that its server
// does not have.
func (w *Vocabulary) UnmatchedSettings(s *settings.Settings) (lines []string) {
	say := func(at, format string, args ...any) {
		lines = append(lines, "junction."+at+": "+fmt.Sprintf(format, args...))
	}
	for _, name := range slices.Sorted(maps.Keys(w.Known)) {
		own, o, at := s.Servers[name], w.Known[name], "servers."+name
		for _, tool := range slices.Sorted(maps.Keys(own.Tools)) {
			if !slices.Contains(o.tools, tool) {
				say(at+".tools", "the server has no tool %q%s", tool, o.likely(tool))
			}
		}
		for _, prompt := range slices.Sorted(maps.Keys(own.Prompts)) {
			if !slices.Contains(o.prompts, prompt) {
				say(at+".prompts", "the server has no prompt %q%s", prompt, cli.Suggestion(nearest.Name(prompt, o.prompts)))
			}
		}
		for list, patterns := range map[string][]string{"only": own.Only, "hide": own.Hide} {
			for _, text := range settings.Unmatched(patterns, o.tools, o.prompts, own.AllTags()) {
				say(at+"."+list, "%q matches no tool, resource or prompt of the server%s", text, o.likely(text))
			}
		}
	}
	part := func(at string, servers []string, lists map[string][]string) {
		var tools, prompts, tags []string
		for _, server := range w.Servers {
			if len(servers) > 0 && !slices.Contains(servers, server) {
				continue
			}
			o, own := w.Known[server], s.Servers[server]
			if o == nil {
				return
			}
			tools, prompts, tags = append(tools, o.ExposedTools...), append(prompts, o.ExposedPrompts...), append(tags, own.AllTags()...)
		}
		for list, patterns := range lists {
			for _, text := range settings.Unmatched(patterns, tools, prompts, tags) {
				say(at+"."+list, "%q matches no name that clients see%s", text, cli.Suggestion(nearest.Name(text, tools)))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Profiles)) {
		p := s.Profiles[name]
		part("profiles."+name, p.Servers, map[string][]string{"only": p.Only, "hide": p.Hide})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Roles)) {
		part("roles."+name, s.ServersOf(s.Roles[name]), map[string][]string{"tools": s.Roles[name].Tools})
	}
	slices.Sort(lines)
	return lines
}

// likely suggests the name of a tool: the server's own name if tool is a name for clients, or else
// a similar one.
func (o *Offering) likely(tool string) string {
	if own := o.Exposed[tool]; own != "" {
		return "; use the server's own name" + cli.Suggestion(own)
	}
	return cli.Suggestion(nearest.Name(tool, o.tools))
}
