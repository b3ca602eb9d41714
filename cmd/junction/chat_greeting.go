package main

import (
	"os"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model/openai"
)

// greeting is what a person should know who begins without a model or without servers
// of their own, as Markdown; who has both needs none.
func (t *chatSetup) greeting() string {
	var parts []string
	if !t.options.Model.Info().Language && t.flags.model.Model == "" && os.Getenv(modelEnv) == "" {
		parts = append(parts, "**No language model is chosen.** The one that is built in only finds a tool by the words of a question "+
			"(try “add 2 and 40”). For a real one:\n\n"+modelHint(os.Getenv)+"\n\nThe variable "+modelEnv+" keeps the choice.")
	}
	switch ownServers := slices.ContainsFunc(t.options.Servers, func(s host.Server) bool { return len(s.Origin) > 0 }); {
	case len(t.options.Servers) == 0:
		parts = append(parts, "**No server is there**, so the model has no tools.")
	case !ownServers:
		parts = append(parts, "The servers are those that ship with Junction. For your own, write a `.mcp.json` as other programs do, "+
			"or begin with `junction chat -- npx -y some-server`.")
	}
	if len(t.instructed) > 0 {
		parts = append(parts, "The model follows "+strings.Join(t.instructed, ", ")+".")
	}
	return strings.Join(parts, "\n\n")
}

// modelHint lists how a model is chosen: those whose key is there, if there are any.
func modelHint(getenv func(string) string) string {
	var lines []string
	add := func(command, key string) {
		if key == "" || getenv(key) != "" {
			lines = append(lines, "- `"+command+"`")
		}
	}
	add("junction chat --model anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY")
	for _, p := range openai.Presets() {
		if p.KeyEnv != "" {
			add("junction chat --model "+p.Name+":NAME", p.KeyEnv)
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "- `junction chat --model anthropic:claude-sonnet-4-5`, with its key in ANTHROPIC_API_KEY")
	}
	add("junction chat --model ollama:qwen3", "")
	lines[len(lines)-1] += ", which runs on this machine"
	return strings.Join(append(lines, "- `junction chat --help` lists what else there is"), "\n")
}
