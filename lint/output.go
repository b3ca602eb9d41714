package lint

import (
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// Output is the name of the rule about results that do not match the output schema of their tool.
const Output = "output"

var outputRule = Rule{
	Name: Output, Severity: Error,
	Doc: `The result of a call does not fit the tool's output schema, or has no structured content despite an output schema. Clients that check it
refuse the result. Warning if a result has structured content and no text, because many hosts show models only text.`,
	check: of((*report).checkOutput),
}

// A result is the result of a call.
type result struct {
	mcp.CallToolResult
	of         *tool
	isMistyped bool // whether the structured content has a wrong type
}

// readResult parses the result of a call and checks it with all rules.
func (r *report) readResult(call *Call, into *result, revision string) {
	if err := schema.DecodeLoose(call.Result, &into.CallToolResult); err != nil {
		r.add(Protocol, Error, "result", "the specification does not allow it: "+err.Error(), "return content as a list of blocks (server/tools)")
		return
	}
	content := jsonrpc.Get(call.Result, "content")
	if at := jsonrpc.SkipSpace(content, 0); at >= len(content) || content[at] != '[' {
		r.add(Protocol, Error, "result.content", "it is missing", "return a list of blocks, which may be empty: the specification requires it (server/tools)")
		return
	}
	structured := into.StructuredContent
	if into.isMistyped = !into.IsError && structured != nil && structuredObjects(revision) && !isObject(structured); into.isMistyped {
		r.add(Protocol, Error, "result.structuredContent", fmt.Sprintf("it is not an object, as revision %s requires", revision), "return an object, such as {\"result\": …}")
	}
	r.check(into)
}

// checkOutput reports a result that does not match its tool's output schema.
func (r *report) checkOutput(result *result) {
	structured := result.StructuredContent
	switch {
	case result.IsError || result.isMistyped || !result.of.fits(outputField): // needs no structured content, or is already reported
	case structured == nil:
		r.add(Output, Error, "result.structuredContent", "it is missing, though the tool has an output schema: clients that check it refuse the result", "return structured content, or have no output schema (server/tools)")
	default:
		check, err := schema.Compile(result.of.OutputSchema)
		if err != nil {
			return
		}
		if err := check.Validate(structured); err != nil {
			r.add(Output, Error, "result.structuredContent", "it does not fit the output schema: "+err.Error(), "change the result or the schema: clients that check it refuse the result (server/tools)")
		}
	}
	if structured != nil && len(result.Content) == 0 && !result.IsError {
		r.add(Output, Warning, "result.content", "it is empty, though there is structured content, which many hosts do not show to models", "return the same as JSON in a block of text, too (server/tools)")
	}
}
