package chat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/offline"
	"github.com/junction-mcp/junction/model/providers"
)

// Greeting returns advice in Markdown for a user without a model or without own servers. It returns
// "" for any other user.
func (t *Setup) Greeting() string {
	var parts []string
	if !t.Options.Model.Info().Language && t.Flags.Model.Model == "" && t.App.Getenv(ModelEnv) == "" {
		parts = append(parts, "**No language model is chosen.** The built-in matcher only picks a tool by the words of a question. For a model:\n\n"+ModelHint(t.App.Getenv)+"\n\nTo keep the choice, set the variable "+ModelEnv+".")
	}
	switch ownServers := slices.ContainsFunc(t.Options.Servers, func(s host.Server) bool { return len(s.Origin) > 0 }); {
	case len(t.Options.Servers) == 0:
		parts = append(parts, "**There are no servers**, so the model has no tools.")
	case !ownServers:
		parts = append(parts, "The servers are those that ship with Junction. To use your own, write a `.mcp.json` file, "+
			"or begin with `junction chat -- npx -y some-server`.")
	}
	if len(t.instructed) > 0 {
		parts = append(parts, "The model follows "+strings.Join(t.instructed, ", ")+".")
	}
	return strings.Join(parts, "\n\n")
}

// Example returns a question that the offline model answers with a call of one of the read-only
// tools. It returns "" with a language model.
func (t *Setup) Example(tools []host.ToolInfo) string {
	if t.Options.Model.Info().Language {
		return ""
	}
	var known []model.Tool
	searched := false
	for i := range tools {
		info := &tools[i]
		later := info.State == host.ToolSearched || info.State == host.ToolUnapproved // found by search, now or after its approval
		if info.Sent != nil && info.ReadOnly && info.Server != host.OwnServer && (later || info.State == host.ToolSent) {
			known, searched = append(known, *info.Sent), searched || later
		}
	}
	return offline.Example(known, searched)
}

// ModelHint returns a list in Markdown of commands that select a model: those whose key is in the
// environment, or else one example.
func ModelHint(getenv func(string) string) string {
	var lines []string
	add := func(command, key string) {
		if key == "" || getenv(key) != "" {
			lines = append(lines, "- `"+command+"`")
		}
	}
	all := providers.All()
	for _, p := range all {
		if p.KeyEnv != "" && p.Service == "" {
			add("junction chat --model "+p.Name+":"+cmp.Or(p.Example, "NAME"), p.KeyEnv)
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "- `junction chat --model "+all[0].Name+":"+all[0].Example+"`, with its key in "+all[0].KeyEnv)
	}
	add("junction chat --model ollama:qwen3", "")
	lines[len(lines)-1] += ", which runs on this machine"
	return strings.Join(append(lines, "- `junction chat --help` lists other providers"), "\n")
}
