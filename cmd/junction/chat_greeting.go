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
func (t *table) greeting() string {
	var parts []string
	if !t.options.Model.Info().Language && t.flags.model.name == "" && os.Getenv(modelEnv) == "" {
		parts = append(parts, "**No language model is chosen.** The one that is built in answers: it finds a tool by the words of a question, "+
			"as in `add 2 and 40`, and no more. "+modelHint(os.Getenv))
	}
	if !slices.ContainsFunc(t.options.Servers, func(s host.Server) bool { return len(s.Origin) > 0 }) {
		parts = append(parts, "These are the servers that ship with Junction. Name your own in `.mcp.json`, as other programs do, "+
			"or after `--`, as in `junction chat -- npx -y some-server`.")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "\n\n")
}

// modelHint says how a model is chosen: one whose key is there, if there is one.
func modelHint(getenv func(string) string) string {
	const keep = " The variable `" + modelEnv + "` keeps the choice."
	if getenv("ANTHROPIC_API_KEY") != "" {
		return "`ANTHROPIC_API_KEY` is set, so `junction chat --model anthropic:claude-sonnet-4-5` would do." + keep
	}
	for _, p := range openai.Presets() {
		if p.KeyEnv != "" && getenv(p.KeyEnv) != "" {
			return "`" + p.KeyEnv + "` is set, so `junction chat --model " + p.Name + ":NAME` would do." + keep
		}
	}
	return "Choose another with `junction chat --model anthropic:claude-sonnet-4-5` and its key in `ANTHROPIC_API_KEY`, " +
		"or `--model ollama:qwen3` for one that runs here; `--help` has more." + keep
}
