package replay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// chat is the wire format of OpenAI's chat completions.
type chat struct{}

type chatRequest struct {
	Model    string        `json:"model"`
	Stream   bool          `json:"stream"`
	Messages []chatMessage `json:"messages"`
	Tools    []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    blocks     `json:"content"`
	ToolCallID string     `json:"tool_call_id"`
	ToolCalls  []chatCall `json:"tool_calls"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (chat) read(_ http.Header, body []byte) (*request, error) {
	var in chatRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the request is no chat completion: %w", err)
	}
	req := newRequest(in.Model, in.Stream)
	for _, t := range in.Tools {
		if t.Type != "function" {
			return nil, fmt.Errorf("tool %q is of type %q, and must be a function", t.Function.Name, t.Type)
		}
		req.Tools = append(req.Tools, model.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	for i, m := range in.Messages {
		if err := req.addChat(&m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return req, nil
}

func (r *request) addChat(m *chatMessage) error {
	out := model.Message{Role: model.Role(m.Role)}
	switch m.Role {
	case "system", "developer":
		r.System += m.Content.text()
		return nil
	case "tool":
		result := &model.Result{CallID: m.ToolCallID, Name: r.names[m.ToolCallID], Parts: m.Content.texts()}
		out.Parts = []model.Part{{Result: result}}
	default:
		out.Parts = m.Content.texts()
	}
	for _, c := range m.ToolCalls {
		if c.Type != "function" {
			return fmt.Errorf("call %q is of type %q, and must be a function", c.ID, c.Type)
		}
		r.names[c.ID] = c.Function.Name
		out.Parts = append(out.Parts, model.Part{Call: &model.Call{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)}})
	}
	r.Messages = append(r.Messages, out)
	return nil
}

func (chat) events(a *answer) []event {
	var events []event
	chunk := func(choices []any) map[string]any {
		return map[string]any{"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "created": 0, "model": a.model, "choices": choices}
	}
	send := func(delta map[string]any, stop any) {
		events = append(events, event{data: chunk([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": stop}})})
	}
	send(map[string]any{"role": "assistant", "content": ""}, nil)
	for word := range strings.SplitAfterSeq(a.text, " ") {
		if word != "" {
			send(map[string]any{"content": word}, nil)
		}
	}
	for i, c := range a.calls {
		head := map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}
		send(map[string]any{"tool_calls": []any{head}}, nil)
		for _, piece := range halves(string(c.Arguments)) {
			send(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": piece}}}}, nil)
		}
	}
	stop := "stop"
	if len(a.calls) > 0 {
		stop = "tool_calls"
	}
	send(map[string]any{}, stop)
	usage := chunk([]any{})
	usage["usage"] = map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
	return append(events, event{data: usage}, event{data: "[DONE]"})
}

func (chat) failure(message string) any {
	return map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}}
}
