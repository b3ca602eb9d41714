package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// responses is the wire format of OpenAI's Responses API. Like the provider, it requires that the
// output that came with a thought follows the thought.
type responses struct{}

type responsesRequest struct {
	Model        string         `json:"model"`
	Stream       bool           `json:"stream"`
	Store        *bool          `json:"store"`
	Instructions string         `json:"instructions"`
	Input        []responseItem `json:"input"`
	Tools        []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
}

type responseItem struct {
	Type      string `json:"type"`
	Role      string `json:"role"`
	Content   blocks `json:"content"`
	Encrypted string `json:"encrypted_content"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Output    blocks `json:"output"`
}

func (responses) read(_ http.Header, body []byte) (*request, error) {
	var in responsesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the request is none of responses: %w", err)
	}
	if in.Store == nil || *in.Store {
		return nil, errors.New("store is not false, and nothing is kept here")
	}
	req := newRequest(in.Model, in.Stream)
	req.System = in.Instructions
	for _, t := range in.Tools {
		if t.Type != "function" {
			return nil, fmt.Errorf("tool %q is of type %q, and must be a function", t.Name, t.Type)
		}
		req.Tools = append(req.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	for i := range in.Input {
		item := &in.Input[i]
		next := i+1 < len(in.Input) && (in.Input[i+1].Type != "message" || in.Input[i+1].Role == "assistant") && in.Input[i+1].Type != "function_call_output"
		if item.Type == "reasoning" && (!next || item.Encrypted == "") {
			return nil, fmt.Errorf("item %d: reasoning was provided without its content, or without what followed it", i)
		}
		if err := req.addItem(item); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return req, nil
}

// addItem adds an item to the message to which it belongs.
func (r *request) addItem(item *responseItem) error {
	role, parts := model.RoleAssistant, []model.Part(nil)
	switch item.Type {
	case "message":
		role, parts = model.Role(item.Role), item.Content.texts()
	case "reasoning":
		parts = []model.Part{{Reasoning: &model.Reasoning{Text: "…"}}}
	case "function_call":
		r.names[item.CallID] = item.Name
		parts = []model.Part{{Call: &model.Call{ID: item.CallID, Name: item.Name, Arguments: json.RawMessage(item.Arguments)}}}
	case "function_call_output":
		role = model.RoleTool
		parts = []model.Part{{Result: &model.Result{CallID: item.CallID, Name: r.names[item.CallID], Parts: item.Output.texts()}}}
	default:
		return fmt.Errorf("there is no item %q", item.Type)
	}
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == role && role != model.RoleUser {
		r.Messages[n-1].Parts = append(r.Messages[n-1].Parts, parts...)
		return nil
	}
	r.Messages = append(r.Messages, model.Message{Role: role, Parts: parts})
	return nil
}

// items returns the output items of an answer: a thought, a text and calls.
func (a *answer) items() []map[string]any {
	items := []map[string]any{{"id": "rs_" + a.id, "type": "reasoning", "summary": []any{}, "encrypted_content": "gAAAA" + a.id}}
	if a.text != "" {
		content := []any{map[string]any{"type": "output_text", "text": a.text, "annotations": []any{}}}
		items = append(items, map[string]any{"id": "msg_" + a.id, "type": "message", "role": "assistant", "status": "completed", "content": content})
	}
	for _, c := range a.calls {
		items = append(items, map[string]any{"id": "fc_" + c.ID, "type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": string(c.Arguments), "status": "completed"})
	}
	return items
}

func (a *answer) response(status string, output []map[string]any) map[string]any {
	return map[string]any{
		"id": "resp_" + a.id, "object": "response", "created_at": 0, "status": status, "error": nil, "incomplete_details": nil,
		"model": a.model, "output": output, "store": false, "usage": map[string]any{"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
	}
}

func (responses) events(a *answer) []event {
	var events []event
	send := func(kind string, more map[string]any) {
		more["type"], more["sequence_number"] = kind, len(events)
		events = append(events, event{kind, more})
	}
	send("response.created", map[string]any{"response": a.response("in_progress", nil)})
	send("response.in_progress", map[string]any{"response": a.response("in_progress", nil)})
	for i, item := range a.items() {
		begun := map[string]any{"id": item["id"], "type": item["type"], "status": "in_progress"}
		kind, pieces := "", []string(nil)
		switch item["type"] {
		case "message":
			begun["role"], begun["content"] = "assistant", []any{}
			kind, pieces = "response.output_text.delta", strings.SplitAfter(a.text, " ")
		case "function_call":
			begun["call_id"], begun["name"], begun["arguments"] = item["call_id"], item["name"], ""
			kind, pieces = "response.function_call_arguments.delta", halves(item["arguments"].(string))
		}
		send("response.output_item.added", map[string]any{"output_index": i, "item": begun})
		for _, piece := range pieces {
			send(kind, map[string]any{"output_index": i, "item_id": item["id"], "delta": piece})
		}
		send("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	send("response.completed", map[string]any{"response": a.response("completed", a.items())})
	return events
}

func (responses) failure(message string) any { return chat{}.failure(message) }
