package lint

import (
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// A Rule names a kind of finding.
type Rule string

// The rules. docs/lint.md has an example of each.
const (
	// Protocol: something that the specification forbids, in a definition or on the wire.
	Protocol Rule = "protocol"
	// DuplicateName: two tools, prompts or resources have one name.
	DuplicateName Rule = "duplicate-name"
	// ToolName: the name of a tool is none that all providers of models take.
	ToolName Rule = "tool-name"
	// InvalidSchema: a schema is no JSON Schema.
	InvalidSchema Rule = "invalid-schema"
	// RefusedSchema: a provider of models refuses an input schema.
	RefusedSchema Rule = "refused-schema"
	// UnknownRequired: a schema requires a property that it does not describe.
	UnknownRequired Rule = "unknown-required"
	// UnfitValue: a default, an example or a choice does not fit the schema it stands in.
	UnfitValue Rule = "unfit-value"
	// NoDescription: a tool or prompt says nothing of what it does.
	NoDescription Rule = "no-description"
	// NoArgumentDescription: of a tenth of a server's arguments or more, nothing says what they mean.
	NoArgumentDescription Rule = "no-argument-description"
	// SameDescription: tools have the same description.
	SameDescription Rule = "same-description"
	// Contradiction: what a tool's annotations say contradicts itself, or its name.
	Contradiction Rule = "contradiction"
	// Size: definitions take so much of a model's context that they crowd out other things.
	Size Rule = "size"
	// Poison: a text looks like an order to a model, or hides something.
	Poison Rule = "poison"
	// Output: the result of a tool does not fit its output schema.
	Output Rule = "output"
)

// Rules returns all rules, in the order of docs/lint.md.
func Rules() []Rule {
	return []Rule{Protocol, DuplicateName, ToolName, InvalidSchema, RefusedSchema, UnknownRequired, UnfitValue, NoDescription, NoArgumentDescription,
		SameDescription, Contradiction, Size, Poison, Output}
}

// maxFindings is how many findings there are of one server.
const maxFindings = 10_000

// Check returns what is wrong with what was seen of a server, the gravest first. It asks
// nobody; the same Seen has the same findings.
func Check(seen *Seen) []Finding {
	r := &report{}
	r.about(OfServer, "")
	r.checkWire(seen)
	tools := r.readTools(seen.Tools)
	r.checkNames(seen, tools)
	for i := range tools {
		t := &tools[i]
		r.about(OfTool, t.Name)
		r.checkSchemas(t)
		r.checkDescription(t)
		r.checkAnnotations(t)
	}
	r.checkArguments(tools, seen.Instructions)
	r.checkSameDescriptions(tools)
	r.checkPrompts(seen.Prompts)
	r.checkResources(seen)
	r.checkSize(seen, tools)
	r.checkPoison(seen, tools)
	r.checkCalls(seen, tools)
	return r.sorted()
}

// A tool is what can be read of a definition.
type tool struct {
	mcp.Tool
	raw json.RawMessage
	// inputFits says that the input schema is valid; outputFits that the output schema is, or absent.
	inputFits, outputFits bool
}

// text is a member that is a string; "" otherwise.
func text(raw json.RawMessage, member string) string {
	s, _ := jsonrpc.Unquote(jsonrpc.Get(raw, member))
	return s
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	at := jsonrpc.SkipSpace(raw, 0)
	return at < len(raw) && raw[at] == '{'
}
