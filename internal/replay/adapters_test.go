package replay_test

import (
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/injected"
	"github.com/junction-mcp/junction/model/openai"
	"github.com/junction-mcp/junction/model/responses"
)

// talk runs a conversation with the recording to its end. The tools return texts, in order.
func talk(t *testing.T, m model.Model, texts ...string) (answer string, calls []*model.Call) {
	t.Helper()
	req := &model.Request{
		System:   "Be helpful.",
		Messages: []model.Message{model.UserText("which alarms?")},
		Tools: []model.Tool{
			{Name: "mysql__query", Description: "Run a query.", Schema: json.RawMessage(`{"type":"object","properties":{"sql":{"type":"string"}}}`)},
			{Name: "files__write_file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"rows":{"type":"integer"},"top":{"type":"array","items":{"type":"string"}}}}`)},
		},
	}
	for range 5 {
		resp, err := m.Generate(t.Context(), req, func(model.Delta) {})
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, resp.Message)
		asked := resp.Message.Calls()
		if len(asked) == 0 {
			return resp.Message.Text(), calls
		}
		results := model.Message{Role: model.RoleTool}
		for _, c := range asked {
			r := &model.Result{CallID: c.ID, Name: c.Name, Parts: []model.Part{{Text: texts[len(calls)]}}}
			results.Parts = append(results.Parts, model.Part{Result: r})
			calls = append(calls, c)
		}
		req.Messages = append(req.Messages, results)
	}
	t.Fatal("the conversation does not end")
	return "", nil
}

func TestAdaptersReadReplays(t *testing.T) {
	chat, err := openai.New(openai.Options{Model: "recorded", Provider: "recorded", BaseURL: serve(t) + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	stateless, err := responses.New(responses.Options{Model: "recorded", BaseURL: serve(t) + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	var rowsText string
	if err := json.Unmarshal([]byte(`"`+rows+`"`), &rowsText); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]model.Model{
		"chat completions":    chat,
		"responses":           stateless,
		"tools in the prompt": injected.New(chat),
	} {
		t.Run(name, func(t *testing.T) {
			answer, calls := talk(t, m, rowsText, "LINK_DOWN", "ok 12")
			if answer != wantedText || len(calls) != 3 {
				t.Fatalf("%d calls, and the answer %q", len(calls), answer)
			}
			if calls[0].Name != "mysql__query" || calls[2].Name != "files__write_file" || string(calls[2].Arguments) != wantedArguments {
				t.Errorf("the calls are %+v and %+v", calls[0], calls[2])
			}
		})
	}
}
