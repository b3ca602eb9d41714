package openai

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/openai/openai-go/v3"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// usageOf is what an event says of tokens; nil if it says nothing. Most servers
// say it once, at the end, some in every event the sum so far.
func usageOf(c *openai.ChatCompletionChunk) *model.Usage {
	u := c.Usage
	if !c.JSON.Usage.Valid() {
		inner := jsonrpc.Get([]byte(c.JSON.ExtraFields["x_groq"].Raw()), "usage")
		if inner == nil || json.Unmarshal(inner, &u) != nil {
			return nil
		}
	}
	input, output := count(u.PromptTokens), count(u.CompletionTokens)
	if total := count(u.TotalTokens); total > input+output {
		output = total - input // Gemini counts thoughts in the total only
	}
	if input+output == 0 {
		return nil
	}
	read := count(u.PromptTokensDetails.CachedTokens)
	for _, name := range []string{"prompt_cache_hit_tokens", "cached_tokens"} {
		if n, err := strconv.ParseInt(u.JSON.ExtraFields[name].Raw(), 10, 64); err == nil && read == 0 {
			read = count(n)
		}
	}
	return &model.Usage{
		Input: input, Output: output, CacheRead: min(read, input),
		Reasoning: min(count(u.CompletionTokensDetails.ReasoningTokens), output),
	}
}

// count keeps numbers of a provider within what can be added up.
func count(n int64) int { return int(max(0, min(n, math.MaxInt32))) }

// estimate guesses the tokens where the provider does not say.
func (a *assembly) estimate(req *model.Request) model.Usage {
	input := len(req.System)
	for i := range req.Messages {
		for _, p := range req.Messages[i].Parts {
			input += len(p.Text)
			if p.Call != nil {
				input += len(p.Call.Name) + len(p.Call.Arguments)
			}
			if p.Result != nil {
				input += len(p.Result.Text())
			}
		}
	}
	for i := range req.Tools {
		input += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Schema)
	}
	output := a.text.Len() + a.reasoning.Len()
	for _, c := range a.calls {
		output += len(c.name) + c.arguments.Len()
	}
	return model.Usage{
		Input: model.EstimateTokens(input), Output: model.EstimateTokens(output),
		Reasoning: model.EstimateTokens(a.reasoning.Len()), Estimated: true,
	}
}
