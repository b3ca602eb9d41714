package openai

import (
	"cmp"
	"encoding/json"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// params is the body of a request, as chat completions has it.
type params struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []toolParam    `json:"tools,omitempty"` // some servers refuse an empty list
	ToolChoice          model.Choice   `json:"tool_choice,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type toolParam struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// message is one message of any role.
type message struct {
	Content    any        `json:"content,omitempty"` // a string, or a list of parts
	Role       string     `json:"role"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []callSent `json:"tool_calls,omitempty"`

	more map[string]json.RawMessage // what the provider put into it
}

// MarshalJSON adds the members that the protocol does not know.
func (m message) MarshalJSON() ([]byte, error) {
	type known message
	return wire.Marshal(known(m), m.more)
}

type callSent struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`

	more map[string]json.RawMessage
}

// MarshalJSON adds the members that the protocol does not know.
func (c callSent) MarshalJSON() ([]byte, error) {
	type known callSent
	return wire.Marshal(known(c), c.more)
}

// request is the body of a request.
func (m *Model) request(req *model.Request, tools []model.Tool) ([]byte, error) {
	left := m.service.Learned.Left()
	var list []toolParam
	for i := range tools {
		list = append(list, toolParam{Type: "function", Function: function{Name: tools[i].Name, Description: tools[i].Description, Parameters: tools[i].Schema}})
	}
	p := &params{
		Model:    m.options.Model,
		Messages: m.messages(req, left),
		Tools:    list,
		Stream:   true,
	}
	switch {
	case len(tools) == 0 || left[toolChoiceMember]:
	case req.Choice == model.ChoiceNone, req.Choice == model.ChoiceRequired:
		p.ToolChoice = req.Choice
	}
	if !left[temperatureMember] {
		p.Temperature = req.Temperature
	}
	if !left[stopMember] {
		p.Stop = req.Stop
	}
	if !left[streamOptionsMember] {
		p.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	m.limit(p, req.MaxTokens, left)
	return wire.Marshal(p, m.options.Body)
}

// limit sets the limit of the answer, which has two names.
func (m *Model) limit(p *params, tokens int, left map[string]bool) {
	tokens = cmp.Or(tokens, m.options.MaxTokens)
	if tokens <= 0 {
		return
	}
	if completion := m.preset.maxTokens == "max_completion_tokens"; completion != left[maxTokensMember] {
		p.MaxCompletionTokens = tokens
	} else {
		p.MaxTokens = tokens
	}
}
