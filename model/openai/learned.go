package openai

import "github.com/junction-mcp/junction/model/internal/wire"

// What a service may turn out not to take.
const (
	streamOptionsMember = "stream_options"
	maxTokensMember     = "max_tokens" // it has the other name there
	temperatureMember   = "temperature"
	toolChoiceMember    = "tool_choice"
	reasoningMember     = "reasoning_content"
	extraMember         = "extra"
	stopMember          = "stop"
)

var optional = []wire.Member{
	{Name: streamOptionsMember, Words: []string{"stream_options", "include_usage"}},
	{Name: maxTokensMember, Words: []string{"max_tokens", "max_completion_tokens"}},
	{Name: temperatureMember, Words: []string{"temperature"}},
	{Name: toolChoiceMember, Words: []string{"tool_choice"}},
	{Name: reasoningMember, Words: []string{"reasoning_content"}},
	{Name: extraMember, Words: []string{"reasoning_details", "extra_content"}},
	{Name: stopMember, Words: []string{"'stop'", `"stop"`, "`stop`"}},
}
