package lint

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// checkNames looks for names that are used twice, and for those that providers refuse.
func (r *report) checkNames(seen *Seen, tools []tool) {
	r.twice(OfTool, seen.Tools, "name", "calls reach one of them only")
	r.twice(OfPrompt, seen.Prompts, "name", "one of them cannot be had")
	r.twice(OfResource, seen.Resources, "uri", "one of them cannot be read")
	r.twice(OfTemplate, seen.Templates, "uriTemplate", "nobody can tell them apart")
	for i := range tools {
		r.about(OfTool, tools[i].Name)
		if name := tools[i].Name; !model.IsPortable(name) {
			severity := Warning
			if model.IsPortable(strings.ReplaceAll(name, ".", "_")) { // the specification allows dots
				severity = Note
			}
			r.add(ToolName, severity, "name", "not every provider of models takes this name, so that hosts must give the model another",
				"use at most 64 of A-Z, a-z, 0-9, _ and -, and begin with a letter or _")
		}
	}
}

// twice reports each name that a list has more than once.
func (r *report) twice(kind Kind, list []json.RawMessage, member, then string) {
	times := map[string]int{}
	for _, raw := range list {
		name := text(raw, member)
		if times[name]++; name != "" && times[name] == 2 {
			r.about(kind, name)
			r.add(DuplicateName, Error, member, "more than one entry of the list has it, so "+then, "give each its own, or list it once")
		}
	}
}
