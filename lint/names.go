package lint

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// DuplicateName is the name of the rule about tools, prompts or resources with the same name.
const DuplicateName = "duplicate-name"

var duplicateNameRule = Rule{
	Name: DuplicateName, Severity: Error,
	Doc: `Two tools or prompts share a name, two resources a URI, or two templates are equal. Clients reach only one of them.`,
	Bad: `{"name": "add", "description": "Adds a and b.", "inputSchema": {"type": "object"}}
{"name": "add", "description": "Adds a list of numbers.", "inputSchema": {"type": "object"}}`,
	Good: `{"name": "add", "description": "Adds a and b.", "inputSchema": {"type": "object"}}
{"name": "add_list", "description": "Adds a list of numbers.", "inputSchema": {"type": "object"}}`,
	check: of((*report).checkDuplicates),
}

// ToolName is the name of the rule about names of tools that providers of models do not accept.
const ToolName = "tool-name"

var toolNameRule = Rule{
	Name: ToolName, Severity: Warning,
	Doc: `Providers of models accept ` + "`" + `[A-Za-z_][A-Za-z0-9_-]*` + "`" + ` of at most 64 characters. A note if the only other characters
are dots, which the specification allows: hosts replace them.`,
	Bad:   `{"name": "read file", "description": "Reads a file.", "inputSchema": {"type": "object"}}`,
	Good:  `{"name": "read_file", "description": "Reads a file.", "inputSchema": {"type": "object"}}`,
	check: of((*report).checkToolNames),
}

// checkDuplicates reports names that a list has more than once.
func (r *report) checkDuplicates(s names) {
	r.twice(OfTool, s.Tools, "name", "calls reach only one of them")
	r.twice(OfPrompt, s.Prompts, "name", "clients reach only one of them")
	r.twice(OfResource, s.Resources, "uri", "one of them cannot be read")
	r.twice(OfTemplate, s.Templates, "uriTemplate", "clients cannot tell them apart")
}

// checkToolNames reports names that providers do not accept.
func (r *report) checkToolNames(s names) {
	for i := range s.tools {
		name := s.tools[i].Name
		r.about(OfTool, name)
		if !model.IsPortable(name) {
			severity := Warning
			if model.IsPortable(strings.ReplaceAll(name, ".", "_")) { // the name is valid except for dots, which the specification allows
				severity = Note
			}
			r.add(ToolName, severity, "name", "some providers of models reject this name, so hosts must rename the tool",
				"use at most 64 of A-Z, a-z, 0-9, _ and -, and begin with a letter or _")
		}
	}
}

// twice reports each name that a list has more than once. then completes the sentence about the
// effect.
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
