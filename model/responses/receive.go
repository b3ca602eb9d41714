package responses

import (
	"cmp"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// Whole takes in a response that is no stream.
func (a *assembly) Whole(data []byte) {
	if jsonrpc.Get(data, "output") == nil {
		a.Complain(data)
		return
	}
	a.end(data, "completed")
}

// Event takes in one event of a stream. Those that are not here repeat what others
// have said, or are of tools of the provider, whose items come whole.
func (a *assembly) Event(data []byte) {
	index := wire.Number(data, "output_index")
	delta := wire.StringOf(data, "delta")
	switch kind := wire.StringOf(data, "type"); kind {
	case "response.output_item.added":
		a.open(index, jsonrpc.Get(data, "item"))
	case "response.output_item.done":
		a.close(index, jsonrpc.Get(data, "item"))
	case "response.output_text.delta":
		a.add(index, "message", delta)
	case "response.refusal.delta":
		a.Refused = a.Refused || delta != ""
		a.add(index, "message", delta)
	case "response.reasoning_summary_text.delta":
		a.think(index, wire.Number(data, "summary_index"), delta)
	case "response.reasoning_text.delta":
		a.think(index, wire.Number(data, "content_index"), delta)
	case "response.function_call_arguments.delta":
		a.add(index, "function_call", delta)
	case "response.completed", "response.incomplete", "response.failed":
		a.end(jsonrpc.Get(data, "response"), strings.TrimPrefix(kind, "response."))
	case "error":
		a.Complain(data)
	default:
		a.note(jsonrpc.Get(data, "response"))
	}
}

// note takes in what a response says of itself.
func (a *assembly) note(response []byte) {
	a.Model = cmp.Or(wire.StringOf(response, "model"), a.Model)
	u := jsonrpc.Get(response, "usage")
	input, output := wire.Number(u, "input_tokens"), wire.Number(u, "output_tokens")
	if input+output == 0 {
		return
	}
	details := jsonrpc.Get(u, "input_tokens_details")
	a.Usage = &model.Usage{
		Input: input, Output: output,
		CacheRead: min(wire.Number(details, "cached_tokens"), input), CacheWrite: min(wire.Number(details, "cache_write_tokens"), input),
		Reasoning: min(wire.Number(jsonrpc.Get(u, "output_tokens_details"), "reasoning_tokens"), output),
	}
}

// end takes in the whole response, which ends the answer. Its items count where no
// event had any.
func (a *assembly) end(response []byte, status string) {
	a.note(response)
	status = cmp.Or(wire.StringOf(response, "status"), status)
	a.Reason = cmp.Or(wire.StringOf(jsonrpc.Get(response, "incomplete_details"), "reason"), status)
	a.cut, a.Done = status == "incomplete", true
	if fault := jsonrpc.Get(response, "error"); status == "failed" || len(fault) > 0 && fault[0] == '{' {
		a.Complain(response)
	}
	if len(a.items) == 0 {
		index := 0
		jsonrpc.EachElement(jsonrpc.Get(response, "output"), func(raw []byte) bool {
			a.close(index, raw)
			index++
			return a.Fault == ""
		})
	}
	a.Begun = a.Begun || a.Complaint == nil
}
