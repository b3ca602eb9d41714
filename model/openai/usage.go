package openai

import (
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
	read := wire.Number(jsonrpc.Get(u, "prompt_tokens_details"), "cached_tokens")
	for _, name := range []string{"prompt_cache_hit_tokens", "cached_tokens"} {
		if read == 0 {
			read = wire.Number(u, name)
		}
	}
	return &model.Usage{
		Input: input, Output: output, CacheRead: min(read, input),
		Reasoning: min(wire.Number(jsonrpc.Get(u, "completion_tokens_details"), "reasoning_tokens"), output),
	}
}
