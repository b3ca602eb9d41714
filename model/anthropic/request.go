package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// params is the body of a request, as the messages API has it.
type params struct {
	Model         string      `json:"model"`
	MaxTokens     int         `json:"max_tokens"`
	System        []block     `json:"system,omitzero"`
	Messages      []turn      `json:"messages"`
	Tools         []toolParam `json:"tools,omitzero"`
	ToolChoice    *kind       `json:"tool_choice,omitzero"`
	Thinking      *thinking   `json:"thinking,omitzero"`
	Temperature   *float64    `json:"temperature,omitzero"`
	StopSequences []string    `json:"stop_sequences,omitempty"`
	Stream        bool        `json:"stream"`
}

// kind is an object that has nothing but a type.
type kind struct {
	Type string `json:"type"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type toolParam struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *kind           `json:"cache_control,omitzero"`
}

type turn struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// ephemeral marks the end of what is cached.
func ephemeral() *kind { return &kind{"ephemeral"} }

// request is the body of a request.
func (m *Model) request(req *model.Request, tools []model.Tool) ([]byte, error) {
	p := &params{
		Model:         m.options.Model,
		MaxTokens:     m.limit(req.MaxTokens),
		Messages:      turns(req.Messages),
		Tools:         toolParams(tools, cachedOf(req, tools)),
		StopSequences: slices.DeleteFunc(slices.Clone(req.Stop), func(s string) bool { return strings.TrimSpace(s) == "" }),
		Stream:        true,
	}
	if strings.TrimSpace(req.System) != "" {
		p.System = []block{{Type: "text", Text: req.System, Cache: ephemeral()}}
	}
	if m.options.Thinking > 0 {
		p.Thinking = &thinking{"enabled", m.options.Thinking}
	} else {
		p.Temperature = req.Temperature // one that thinks can have none but its own
	}
	m.choose(p, req)
	return wire.Marshal(p, m.options.Body)
}

// choose says whether tools must be called. The provider refuses a conversation
// with calls and no tools, so those that were called are named then.
func (m *Model) choose(p *params, req *model.Request) {
	choice := req.Choice
	if len(p.Tools) == 0 {
		p.Tools = toolParams(calledTools(req.Messages), 0)
		choice = model.ChoiceNone
	}
	switch {
	case len(p.Tools) == 0:
	case choice == model.ChoiceNone:
		p.ToolChoice = &kind{"none"}
	case choice == model.ChoiceRequired && m.options.Thinking == 0:
		// One that thinks cannot be made to call.
		p.ToolChoice = &kind{"any"}
	}
}

func calledTools(messages []model.Message) []model.Tool {
	var tools []model.Tool
	for i := range messages {
		for _, c := range messages[i].Calls() {
			if !slices.ContainsFunc(tools, func(t model.Tool) bool { return t.Name == c.Name }) {
				tools = append(tools, model.Tool{Name: c.Name, Schema: json.RawMessage(`{"type":"object"}`)})
			}
		}
	}
	return tools
}

// limit is the limit of the answer with the thinking before it.
func (m *Model) limit(tokens int) int {
	tokens = cmp.Or(max(tokens, 0), max(m.options.MaxTokens, 0), defaultMaxTokens) + m.options.Thinking
	if most := m.service.Learned.MostTokens(); most > 0 {
		tokens = min(tokens, most)
	}
	return tokens
}

// cachedOf is how many of the tools that are sent belong to the cached prefix.
func cachedOf(req *model.Request, tools []model.Tool) int {
	cached := req.Tools[:min(max(0, req.CachedTools), len(req.Tools))]
	n := 0
	for n < len(tools) && slices.ContainsFunc(cached, func(t model.Tool) bool { return t.Name == tools[n].Name }) {
		n++
	}
	return n
}

func toolParams(tools []model.Tool, cached int) []toolParam {
	var list []toolParam
	for i := range tools {
		t := toolParam{Name: tools[i].Name, Description: tools[i].Description, Schema: tools[i].Schema}
		if i+1 == cached {
			t.Cache = ephemeral()
		}
		list = append(list, t)
	}
	return list
}
