package openai

import (
	"cmp"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// usageOf is what an event says of tokens; nil if it says nothing. Most servers
// say it once, at the end, some in every event the sum so far.
func usageOf(event []byte) *model.Usage {
	u := jsonrpc.Get(event, "usage")
	if u == nil || string(u) == "null" {
		u = jsonrpc.Get(jsonrpc.Get(event, "x_groq"), "usage")
	}
	input, output := wire.Number(u, "prompt_tokens"), wire.Number(u, "completion_tokens")
	if total := wire.Number(u, "total_tokens"); total > input+output {
		output = total - input // Gemini counts thoughts in the total only
	}
	if input+output == 0 {
		return nil
	}
	read := cmp.Or(wire.Number(jsonrpc.Get(u, "prompt_tokens_details"), "cached_tokens"), wire.Number(u, "prompt_cache_hit_tokens"), wire.Number(u, "cached_tokens"))
	return &model.Usage{
		Input: input, Output: output, CacheRead: min(read, input),
		Reasoning: min(wire.Number(jsonrpc.Get(u, "completion_tokens_details"), "reasoning_tokens"), output),
	}
}
