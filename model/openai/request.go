package openai

import (
	"encoding/json"
	"maps"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// request is the body of a request.
func (m *Model) request(req *model.Request, tools []model.Tool) openai.ChatCompletionNewParams {
	has := m.learned.now()
	p := openai.ChatCompletionNewParams{
		Model:    m.options.Model,
		Messages: m.messages(req, has),
		Tools:    toolParams(tools),
	}
	switch {
	case len(tools) == 0 || has.noToolChoice:
	case req.Choice == model.ChoiceNone, req.Choice == model.ChoiceRequired:
		p.ToolChoice.OfAuto = param.NewOpt(string(req.Choice))
	}
	if req.Temperature != nil && !has.noTemperature {
		p.Temperature = param.NewOpt(*req.Temperature)
	}
	if len(req.Stop) > 0 && !has.noStop {
		p.Stop.OfStringArray = req.Stop
	}
	if !has.noStreamOptions {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	m.limit(&p, req.MaxTokens, has)
	more := map[string]any{"stream": true}
	maps.Copy(more, m.options.Body)
	p.SetExtraFields(more)
	return p
}

// limit sets the limit of the answer, which has two names.
func (m *Model) limit(p *openai.ChatCompletionNewParams, tokens int, has facts) {
	if tokens == 0 {
		tokens = m.options.MaxTokens
	}
	if tokens <= 0 {
		return
	}
	if completion := m.preset.maxTokens == "max_completion_tokens"; completion != has.otherMaxTokens {
		p.MaxCompletionTokens = param.NewOpt(int64(tokens))
	} else {
		p.MaxTokens = param.NewOpt(int64(tokens))
	}
}

func toolParams(tools []model.Tool) []openai.ChatCompletionToolUnionParam {
	var params []openai.ChatCompletionToolUnionParam // nil is left out; some servers refuse an empty list
	for i := range tools {
		t := &tools[i]
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: shared.FunctionParameters{}}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		jsonrpc.EachMember(t.Schema, func(name, value []byte) bool {
			if key, ok := jsonrpc.Unquote(name); ok {
				f.Parameters[key] = json.RawMessage(value)
			}
			return true
		})
		params = append(params, openai.ChatCompletionFunctionTool(f))
	}
	return params
}
