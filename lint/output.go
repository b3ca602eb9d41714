package lint

import (
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// checkCalls compares what calls brought with what the tools promise.
func (r *report) checkCalls(seen *Seen, tools []tool) {
	known := map[string]*tool{}
	for i := range tools {
		known[tools[i].Name] = &tools[i]
	}
	for i := range seen.Calls {
		call := &seen.Calls[i]
		if t := known[call.Tool]; t != nil && call.Err == nil {
			r.about(OfTool, t.Name)
			r.checkResult(seen, t, call)
		}
	}
}

// checkResult compares one result with its output schema.
func (r *report) checkResult(seen *Seen, t *tool, call *Call) {
	var result mcp.CallToolResult
	if err := schema.DecodeLoose(call.Result, &result); err != nil {
		r.add(Protocol, Error, "result", "it is none that the specification allows: "+err.Error(), "return content as a list of blocks (server/tools)")
		return
	}
	content := jsonrpc.Get(call.Result, "content")
	if at := jsonrpc.SkipSpace(content, 0); at >= len(content) || content[at] != '[' {
		r.add(Protocol, Error, "result.content", "it is missing", "return a list of blocks, which may be empty: the specification requires it (server/tools)")
		return
	}
	structured := result.StructuredContent
	switch {
	case result.IsError: // then nothing has to be structured
	case structured != nil && structuredObjects(seen.Revision) && !isObject(structured):
		r.add(Protocol, Error, "result.structuredContent", fmt.Sprintf("it is not an object, as revision %s has it", seen.Revision), "return an object, such as {\"result\": …}")
	case t.OutputSchema == nil || !t.outputFits:
	case structured == nil:
		r.add(Output, Error, "result.structuredContent", "it is missing, though the tool has an output schema: clients that check it refuse the result", "return structured content, or have no output schema (server/tools)")
	default:
		check, err := schema.Compile(t.OutputSchema)
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
