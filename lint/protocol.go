package lint

import (
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/uritemplate"
	"github.com/junction-mcp/junction/mcp"
)

// Protocol is the name of the rule about breaches of the specification, in definitions or in
// messages.
const Protocol = "protocol"

var protocolRule = Rule{
	Name: Protocol, Severity: Error,
	Doc: `A definition or result breaches the specification. A required member is missing, or a member is null or of
another type. An input schema is not of the type ` + "`" + `object` + "`" + `, or a URI template is invalid. An announced capability is
missing, or a result has no ` + "`" + `content` + "`" + `. The rule also reports breaches on the wire, which Junction tolerates and other
clients do not: output that is not a message, requests during the handshake, responses with another ID, and invalid
session IDs.`,
	Bad:  `{"name": "add", "title": null, "description": "Adds a and b.", "inputSchema": {"type": "object"}}`,
	Good: `{"name": "add", "description": "Adds a and b.", "inputSchema": {"type": "object"}}`,
}

// readTools parses the tools of a list. It reports each tool that cannot be parsed.
func (r *report) readTools(list []json.RawMessage) []tool {
	tools := make([]tool, 0, len(list))
	for i, raw := range list {
		r.about(OfTool, nameOf(raw, "name", i))
		t := tool{raw: raw}
		if !r.read(raw, &t.Tool, "name") {
			continue
		}
		r.nulls(raw, "", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta")
		r.nulls(jsonrpc.Get(raw, "annotations"), "annotations.", "title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
		tools = append(tools, t)
	}
	return tools
}

// readPrompts parses and checks prompts.
func (r *report) readPrompts(list []json.RawMessage) {
	for i, raw := range list {
		r.about(OfPrompt, nameOf(raw, "name", i))
		var p mcp.Prompt
		if !r.read(raw, &p, "name") {
			continue
		}
		r.nulls(raw, "", "title", "description", "arguments", "icons", "_meta")
		r.check(&p)
		for at, a := range p.Arguments {
			if a.Name == "" {
				r.add(Protocol, Error, fmt.Sprintf("arguments[%d]", at), "an argument has no name", "give it one: clients must send it by its name (server/prompts)")
			}
		}
	}
}

// readResources parses and checks resources and templates.
func (r *report) readResources(seen *Seen) {
	for i, raw := range seen.Resources {
		r.about(OfResource, nameOf(raw, "uri", i))
		if r.read(raw, new(mcp.Resource), "uri", "name") {
			r.nulls(raw, "", "title", "description", "mimeType", "size", "annotations", "icons", "_meta")
		}
	}
	for i, raw := range seen.Templates {
		r.about(OfTemplate, nameOf(raw, "uriTemplate", i))
		var t mcp.ResourceTemplate
		if !r.read(raw, &t, "uriTemplate", "name") {
			continue
		}
		r.nulls(raw, "", "title", "description", "mimeType", "annotations", "icons", "_meta")
		if _, err := uritemplate.Parse(t.URITemplate); err != nil && len(t.URITemplate) <= uritemplate.MaxTemplate {
			r.add(Protocol, Error, "uriTemplate", "it is not a URI template: "+err.Error(), "write it as RFC 6570 has it, such as file:///{path} (server/resources)")
		}
	}
}

// nameOf returns the name of an entry of a list, or else its position.
func nameOf(raw json.RawMessage, member string, at int) string {
	if name := text(raw, member); name != "" {
		return name
	}
	return fmt.Sprintf("number %d of its list", at+1)
}

// read parses a definition. It returns false if the definition cannot be parsed or if a required
// member is not a string with a text.
func (r *report) read(raw json.RawMessage, into any, required ...string) bool {
	if !isObject(raw) {
		r.add(Protocol, Error, "", "the entry of the list is not an object", "list objects, as the specification requires")
		return false
	}
	ok := true
	for _, member := range required {
		if text(raw, member) == "" {
			r.add(Protocol, Error, member, "it is missing, and clients leave the whole entry out", "give it a non-empty text: the specification requires it")
			ok = false
		}
	}
	if !ok {
		return false
	}
	if err := schema.DecodeLoose(raw, into); err != nil {
		r.add(Protocol, Error, "", "a member has a type that the specification does not allow, and clients leave the whole entry out: "+err.Error(), "give it the type of the specification")
		return false
	}
	return true
}

// nulls reports members that are null. Optional members may be missing, but null is not a valid
// value.
func (r *report) nulls(raw json.RawMessage, path string, members ...string) {
	for _, member := range members {
		if string(jsonrpc.Get(raw, member)) == "null" {
			r.add(Protocol, Error, path+member, "it is null, which clients that check definitions refuse", "leave it out: the specification allows it to be absent, not to be null")
		}
	}
}

// structuredObjects reports whether structured content must be an object at a revision.
func structuredObjects(name string) bool {
	known := revision.Lookup(name)
	return known != nil && !known.Modern
}
