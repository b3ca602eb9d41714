package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A hostModel is the model of a host that is no part of Junction: an endpoint with Anthropic's messages and OpenAI's
// responses, streamed. It makes its calls one after the other, each when the results of those before are in the request,
// and then repeats the last result. (Package replay is as strict as a provider, and refuses what these hosts send to
// theirs: other roles, tools that are no functions.)
type hostModel struct {
	url   string
	calls []hostCall

	mu       sync.Mutex
	requests []hostRequest // those that offer tools of Junction
	faults   []string
}

// A hostCall is a call by the name that Junction gave to a tool. Arguments may be made of the results before.
type hostCall struct {
	tool      string
	arguments func(results []string) any
}

// A hostRequest is what a host asks of its model.
type hostRequest struct {
	tools   map[string]hostTool // by the names that Junction gave; those of other servers have the server's name in front
	results []string            // all so far
}

// A hostTool is how a host offers a tool: Codex has a namespace for each server, Claude Code one name.
type hostTool struct{ namespace, name string }

func newHostModel(t *testing.T, calls ...hostCall) *hostModel {
	m := &hostModel{calls: calls}
	endpoint := httptest.NewServer(m)
	t.Cleanup(endpoint.Close)
	m.url = endpoint.URL
	return m
}

func (m *hostModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	events := map[string]func(*hostAnswer) []object{"/v1/messages": messagesEvents, "/v1/responses": responsesEvents}[r.URL.Path]
	if events == nil || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 32<<20))
	if err != nil {
		m.fault("a request cannot be read: %v", err)
		return
	}
	request, err := readHostRequest(body)
	if err != nil {
		m.fault("%v in %.500s", err, body)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events(m.answer(request)) {
		data, err := json.Marshal(event)
		if err != nil {
			m.fault("%v", err)
			return
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], data)
	}
}

func (m *hostModel) fault(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

// seen are the requests so far; a fault fails the test.
func (m *hostModel) seen(t *testing.T) []hostRequest {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, fault := range m.faults {
		t.Error(fault)
	}
	return m.requests
}

// readHostRequest reads a request of either kind.
func readHostRequest(body []byte) (hostRequest, error) {
	type tool struct {
		Name  string
		Tools []struct{ Name string }
	}
	var in struct {
		Stream   bool
		Tools    []tool
		Messages []struct{ Content json.RawMessage } // Anthropic's
		Input    []struct {                          // OpenAI's
			Type   string
			Output json.RawMessage
		}
	}
	request := hostRequest{tools: map[string]hostTool{}}
	if err := json.Unmarshal(body, &in); err != nil {
		return request, err
	}
	if !in.Stream {
		return request, fmt.Errorf("expected a request for a stream")
	}
	for _, tool := range in.Tools {
		if name, ours := strings.CutPrefix(tool.Name, "mcp__junction__"); ours {
			request.tools[name] = hostTool{"", tool.Name}
		} else if name, ofServer := strings.CutPrefix(tool.Name, "mcp__"); ofServer && len(tool.Tools) == 0 {
			request.tools[name] = hostTool{"", tool.Name}
		}
		for _, within := range tool.Tools {
			if tool.Name == "mcp__junction" {
				request.tools[within.Name] = hostTool{tool.Name, within.Name}
			} else if server, is := strings.CutPrefix(tool.Name, "mcp__"); is {
				request.tools[server+"__"+within.Name] = hostTool{tool.Name, within.Name}
			}
		}
	}
	for _, message := range in.Messages {
		var blocks []struct {
			Type    string
			Content json.RawMessage
		}
		_ = json.Unmarshal(message.Content, &blocks) // a text has no results
		for _, block := range blocks {
			if block.Type == "tool_result" {
				request.results = append(request.results, textOfBlocks(block.Content))
			}
		}
	}
	for _, item := range in.Input {
		if item.Type == "function_call_output" {
			request.results = append(request.results, textOfBlocks(item.Output))
		}
	}
	return request, nil
}

// textOfBlocks is the text of what is either a text or a list of blocks.
func textOfBlocks(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(raw, &blocks) // what is neither has no text
	for _, block := range blocks {
		text += block.Text
	}
	return text
}

// A hostAnswer is a text, or a call.
type hostAnswer struct {
	id        string
	text      string
	tool      *hostTool
	arguments string
}

func (m *hostModel) answer(request hostRequest) *hostAnswer {
	if len(request.tools) == 0 && len(request.results) == 0 {
		return &hostAnswer{id: "aside", text: "Nothing to do."} // hosts ask for titles and the like
	}
	m.mu.Lock()
	m.requests = append(m.requests, request)
	m.mu.Unlock()
	n := len(request.results)
	if n >= len(m.calls) {
		return &hostAnswer{id: "end", text: "The tool said: " + request.results[n-1]}
	}
	call := m.calls[n]
	tool, offered := request.tools[call.tool]
	if !offered {
		m.fault("request %d does not offer %s, but %v", n, call.tool, request.tools)
		return &hostAnswer{id: "fault", text: "There is no " + call.tool}
	}
	arguments, err := json.Marshal(call.arguments(request.results))
	if err != nil {
		m.fault("%s: %v", call.tool, err)
	}
	return &hostAnswer{id: fmt.Sprint("call_", n), tool: &tool, arguments: string(arguments)}
}

func messagesEvents(a *hostAnswer) []object {
	block, delta, stop := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.text}, "end_turn"
	if a.tool != nil {
		block = object{"type": "tool_use", "id": "toolu_" + a.id, "name": a.tool.name, "input": object{}}
		delta, stop = object{"type": "input_json_delta", "partial_json": a.arguments}, "tool_use"
	}
	return []object{
		{"type": "message_start", "message": object{"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": "scripted", "content": []any{},
			"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1}}},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 1}},
		{"type": "message_stop"},
	}
}

func responsesEvents(a *hostAnswer) []object {
	item := object{"type": "message", "id": "msg_" + a.id, "role": "assistant", "content": []object{{"type": "output_text", "text": a.text}}}
	if a.tool != nil {
		item = object{"type": "function_call", "id": "fc_" + a.id, "call_id": a.id, "namespace": a.tool.namespace, "name": a.tool.name, "arguments": a.arguments}
	}
	response := object{"id": "resp_" + a.id, "object": "response", "status": "completed", "output": []object{item},
		"usage": object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}
	return []object{
		{"type": "response.created", "response": object{"id": "resp_" + a.id}},
		{"type": "response.output_item.done", "output_index": 0, "item": item},
		{"type": "response.completed", "response": response},
	}
}
