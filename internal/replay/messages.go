package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// messages is the wire format of Anthropic's messages.
type messages struct{}

type messagesRequest struct {
	Model     string `json:"model"`
	Stream    bool   `json:"stream"`
	MaxTokens int    `json:"max_tokens"`
	System    blocks `json:"system"`
	Messages  []struct {
		Role    string `json:"role"`
		Content blocks `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
}

func (messages) read(header http.Header, body []byte) (*request, error) {
	var in messagesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the request is none of messages: %w", err)
	}
	switch {
	case header.Get("Anthropic-Version") == "":
		return nil, errors.New("the header anthropic-version is missing")
	case in.MaxTokens <= 0:
		return nil, errors.New("max_tokens is missing")
	}
	req := newRequest(in.Model, in.Stream)
	req.System = in.System.text()
	for _, t := range in.Tools {
		if t.InputSchema == nil {
			return nil, fmt.Errorf("tool %q has no input_schema", t.Name)
		}
		req.Tools = append(req.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	for i, m := range in.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return nil, fmt.Errorf("message %d: there is no role %q", i, m.Role)
		}
		if err := req.addMessage(model.Role(m.Role), m.Content); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return req, nil
}

// addMessage adds a message. If a user message contains both results and text, it adds two.
func (r *request) addMessage(role model.Role, content blocks) error {
	results, out := model.Message{Role: model.RoleTool}, model.Message{Role: role}
	for _, b := range content {
		switch b.Type {
		case "tool_use":
			r.names[b.ID] = b.Name
			out.Parts = append(out.Parts, model.Part{Call: &model.Call{ID: b.ID, Name: b.Name, Arguments: b.Input}})
		case "tool_result":
			if len(out.Parts) > 0 {
				return errors.New("results must come before everything else")
			}
			result := &model.Result{CallID: b.ToolUseID, Name: r.names[b.ToolUseID], Parts: b.Content.texts(), IsError: b.IsError}
			results.Parts = append(results.Parts, model.Part{Result: result})
		case "thinking", "redacted_thinking":
			out.Parts = append(out.Parts, model.Part{Reasoning: &model.Reasoning{}})
		default:
			out.Parts = append(out.Parts, blocks{b}.texts()...)
		}
	}
	if len(results.Parts) > 0 {
		r.Messages = append(r.Messages, results)
	}
	if len(out.Parts) > 0 || len(results.Parts) == 0 {
		r.Messages = append(r.Messages, out)
	}
	return nil
}

func (messages) events(a *answer) []event {
	var events []event
	send := func(kind string, more map[string]any) {
		more["type"] = kind
		events = append(events, event{kind, more})
	}
	index := 0
	block := func(start map[string]any, kind, member string, pieces []string) {
		send("content_block_start", map[string]any{"index": index, "content_block": start})
		for _, piece := range pieces {
			send("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": kind, member: piece}})
		}
		send("content_block_stop", map[string]any{"index": index})
		index++
	}
	send("message_start", map[string]any{"message": map[string]any{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": map[string]any{"input_tokens": 100, "output_tokens": 10},
	}})
	send("ping", map[string]any{})
	if a.text != "" {
		block(map[string]any{"type": "text", "text": ""}, "text_delta", "text", strings.SplitAfter(a.text, " "))
	}
	for _, c := range a.calls {
		start := map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}
		block(start, "input_json_delta", "partial_json", halves(string(c.Arguments)))
	}
	reason := "end_turn"
	if len(a.calls) > 0 {
		reason = "tool_use"
	}
	stop := map[string]any{"stop_reason": reason, "stop_sequence": nil}
	send("message_delta", map[string]any{"delta": stop, "usage": map[string]any{"output_tokens": 10}})
	send("message_stop", map[string]any{})
	return events
}

func (messages) failure(message string) any {
	return map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": message}}
}
