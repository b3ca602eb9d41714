package replay_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/internal/replay"
)

func recording() []replay.Turn {
	return []replay.Turn{
		{
			Expect: replay.Expect{Last: "user", Contains: []string{"alarm"}, System: []string{"helpful"}, Tools: []string{"query"}},
			Text:   "Let me look.",
			Calls:  []replay.Call{{Name: "query", Arguments: map[string]string{"sql": "select kind, count(*)"}}, {Name: "query"}},
		},
		{
			Expect: replay.Expect{Last: "tool", Contains: []string{"LINK_DOWN"}},
			Then: func(results []string) replay.Turn {
				kinds, err := kindsIn(results)
				if err != nil {
					return replay.Turn{Text: err.Error()}
				}
				return replay.Turn{Calls: []replay.Call{{Name: "write_file", Arguments: map[string]any{"kinds": kinds, "n": len(kinds)}}}}
			},
		},
		{
			Then: func(results []string) replay.Turn {
				kinds, err := kindsIn(results)
				return replay.Turn{Text: fmt.Sprintf("Wrote %d rows, the first %s; it says %s. %v", len(kinds), kinds[0], results[len(results)-1], err)}
			},
		},
	}
}

func kindsIn(results []string) (kinds []string, err error) {
	var rows []struct{ Kind string }
	err = replay.JSON(results[0], &rows)
	for _, row := range rows {
		kinds = append(kinds, row.Kind)
	}
	return kinds, err
}

const rows = `Rows:\n[{\"kind\":\"LINK_DOWN\",\"n\":7},{\"kind\":\"A, \\\"B\\\"\",\"n\":3}]`

const wantedArguments = `{"kinds":["LINK_DOWN","A, \"B\""],"n":2}`

const wantedText = "Wrote 2 rows, the first LINK_DOWN; it says ok 12. <nil>"

func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(replay.Handler(recording()...))
	t.Cleanup(server.Close)
	return server.URL
}

func post(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("anthropic-version", "x")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

const chatTools = `"tools":[{"type":"function","function":{"name":"mysql__query","parameters":{"type":"object"}}},{"type":"function","function":{"name":"write_file"}}]`

// chatMessages returns the messages of the request of turn n.
func chatMessages(n int) string {
	all := []string{
		`{"role":"system","content":"Be helpful."},{"role":"user","content":[{"type":"text","text":"which alarms?"}]}`,
		`{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_0_0","type":"function","function":{"name":"mysql__query","arguments":"{}"}},{"id":"call_0_1","type":"function","function":{"name":"mysql__query","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"call_0_0","content":"` + rows + `"},{"role":"tool","tool_call_id":"call_0_1","content":"LINK_DOWN"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1_0","type":"function","function":{"name":"write_file","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1_0","content":"ok 12"}`,
	}
	return strings.Join(all[:n+1], ",")
}

// streamed reads the events of a stream.
func streamed(t *testing.T, url, body string) []eventstream.Event {
	t.Helper()
	status, text := post(t, url, body)
	if status != 200 {
		t.Fatalf("status %d: %s", status, text)
	}
	reader := eventstream.NewReader(strings.NewReader(text), 0)
	var events []eventstream.Event
	for {
		e, err := reader.Next()
		if err == io.EOF {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

func TestChatCompletionsAreStreamed(t *testing.T) {
	url := serve(t) + "/chat/completions"
	events := streamed(t, url, `{"model":"m","stream":true,"messages":[`+chatMessages(1)+`],`+chatTools+`}`)
	arguments, stop, used := "", "", false
	for _, e := range events[:len(events)-1] {
		var chunk struct {
			Choices []struct {
				Delta struct {
					ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
			Usage *struct{}
		}
		if err := json.Unmarshal(e.Data, &chunk); err != nil {
			t.Fatal(err)
		}
		used = chunk.Usage != nil
		for _, c := range chunk.Choices {
			stop = c.FinishReason
			for _, call := range c.Delta.ToolCalls {
				arguments += call.Function.Arguments
			}
		}
	}
	if arguments != wantedArguments || stop != "tool_calls" || !used || string(events[len(events)-1].Data) != "[DONE]" {
		t.Errorf("%s, %s, usage %v, at the end %s", arguments, stop, used, events[len(events)-1].Data)
	}
}

const anthropicTools = `"system":"Be helpful.","max_tokens":10,"tools":[{"name":"query","input_schema":{"type":"object"}},{"name":"write_file","input_schema":{}}]`

func anthropicMessages(n int) string {
	all := []string{
		`{"role":"user","content":"which alarms?"}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"tool_use","id":"a","name":"query","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"` + rows + `"}]}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"write_file","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"ok 12"}]}`,
	}
	return strings.Join(all[:n+1], ",")
}

func TestMessagesAreStreamed(t *testing.T) {
	url := serve(t) + "/messages"
	arguments, text, names := "", "", []string(nil)
	for n := range 3 {
		for _, e := range streamed(t, url, `{"model":"m","stream":true,"messages":[`+anthropicMessages(n)+`],`+anthropicTools+`}`) {
			var data struct {
				Type  string
				Delta struct {
					PartialJSON string `json:"partial_json"`
					Text        string
				}
			}
			if err := json.Unmarshal(e.Data, &data); err != nil || data.Type != e.Name {
				t.Fatalf("event %s: %s, %v", e.Name, e.Data, err)
			}
			if n == 1 {
				arguments += data.Delta.PartialJSON
				names = append(names, e.Name)
			}
			if n == 2 {
				text += data.Delta.Text
			}
		}
	}
	if arguments != wantedArguments || text != wantedText {
		t.Errorf("%s, %q", arguments, text)
	}
	want := "[message_start ping content_block_start content_block_delta content_block_delta content_block_stop message_delta message_stop]"
	if fmt.Sprint(names) != want {
		t.Errorf("the events are %v; want %s", names, want)
	}
}

func TestCallsAreTextWhereToolsAreInThePrompt(t *testing.T) {
	url := serve(t) + "/chat/completions"
	head := `{"role":"system","content":"Be helpful.\n<tools>\n{\"name\":\"query\",\"parameters\":{}}\n{\"name\":\"write_file\",\"parameters\":{}}\n</tools>"},{"role":"user","content":"which alarms?"}`
	said := func(more string) (text string) {
		for _, e := range streamed(t, url, `{"stream":true,"messages":[`+head+more+`]}`) {
			var chunk struct {
				Choices []struct{ Delta struct{ Content string } }
			}
			if json.Unmarshal(e.Data, &chunk) == nil && len(chunk.Choices) > 0 {
				text += chunk.Choices[0].Delta.Content
			}
		}
		return text
	}
	if text, want := said(""), `Let me look.`+"\n<tool_call>\n"+`{"name":"query","arguments":{"sql":`; !strings.HasPrefix(text, want) {
		t.Errorf("the first turn: %s; want %s", text, want)
	}
	results := `,{"role":"assistant","content":"x"},{"role":"user","content":"<tool_response name=\"query\">\n` + rows + `\n</tool_response>"}`
	if text, want := said(results), `{"kinds":["LINK_DOWN"`; !strings.Contains(text, want) {
		t.Errorf("the second turn: %s; want %s in it", text, want)
	}
}

func TestARequestThatDoesNotFitIsRefused(t *testing.T) {
	base := serve(t)
	chat := func(messages string) string { return `{"stream":true,"messages":[` + messages + `],` + chatTools + `}` }
	for _, test := range []struct{ name, path, body, want string }{
		{"no JSON", "/chat/completions", `{`, "no chat completion"},
		{"another question", "/chat/completions", chat(`{"role":"system","content":"helpful"},{"role":"user","content":"hi"}`), `turn 0: expected \"alarm\" in the last message, got \"hi\"`},
		{"another system prompt", "/chat/completions", chat(`{"role":"user","content":"alarm"}`), "in the system prompt"},
		{"a tool that is not offered", "/chat/completions", `{"stream":true,"messages":[{"role":"system","content":"helpful"},{"role":"user","content":"alarm"}]}`, `expected the tool \"query\" to be offered`},
		{"a call without a result", "/chat/completions", chat(chatMessages(0) + `,{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"q","arguments":"{}"}}]},{"role":"user","content":"x"}`), `call \"c\" of \"q\" has no result`},
		{"a result without a call", "/chat/completions", chat(chatMessages(0) + `,{"role":"tool","tool_call_id":"c","content":"x"}`), "which does not exist"},
		{"a result that is not there", "/chat/completions", chat(`{"role":"user","content":"x"},{"role":"assistant","content":"x"},{"role":"user","content":"x"}`), `expected the last message to be of \"tool\"`},
		{"a turn of results without any", "/chat/completions", chat(`{"role":"user","content":"x"},{"role":"assistant","content":"x"},{"role":"user","content":"x"},{"role":"assistant","content":"x"},{"role":"user","content":"x"}`), "expected results of tools"},
		{"a conversation that goes on", "/chat/completions", chat(chatMessages(2) + `,{"role":"assistant","content":"x"},{"role":"user","content":"x"}`), "comes after the last"},
		{"content that is a number", "/chat/completions", chat(`{"role":"user","content":7}`), "neither text nor blocks"},
		{"a call of another type", "/chat/completions", chat(`{"role":"assistant","tool_calls":[{"id":"c","type":"x"}]}`), `of type \"x\"`},
		{"messages without a limit", "/messages", `{"messages":[]}`, "max_tokens is missing"},
		{"a tool without a schema", "/messages", `{"max_tokens":1,"tools":[{"name":"a"}]}`, "no input_schema"},
		{"a role that is none", "/messages", `{"max_tokens":1,"messages":[{"role":"system","content":"x"}]}`, `no role \"system\"`},
		{"results behind a text", "/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"a"}]}]}`, "results must come before"},
		{"what would be stored", "/responses", `{"input":[]}`, "store is not false"},
		{"a thought that nothing follows", "/responses", `{"store":false,"input":[{"type":"reasoning","encrypted_content":"x"},{"type":"message","role":"user","content":"x"}]}`, "without what followed it"},
		{"an item that is none", "/responses", `{"store":false,"input":[{"type":"x"}]}`, `no item \"x\"`},
		{"a tool that is no function", "/responses", `{"store":false,"tools":[{"type":"x","name":"a"}]}`, `of type \"x\"`},
		{"an answer in one piece", "/messages", `{"max_tokens":1}`, "answers are streamed"},
		{"no messages", "/messages", `{"stream":true,"max_tokens":1}`, "there are no messages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, text := post(t, base+test.path, test.body)
			if status != 400 || !strings.Contains(text, test.want) || !strings.Contains(text, "invalid_request_error") {
				t.Errorf("status %d, %s; want %q in it", status, text, test.want)
			}
		})
	}
	if status, _ := post(t, base+"/v1/embeddings", "{}"); status != 404 {
		t.Errorf("another path has status %d", status)
	}
	for _, path := range []string{"/messages", "/chat/completions", "/responses"} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 405 {
			t.Errorf("GET has status %d", resp.StatusCode)
		}
	}
}

func TestManyConversationsMayRunAtOnce(t *testing.T) {
	url := serve(t) + "/chat/completions"
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if status, text := post(t, url, `{"stream":true,"messages":[`+chatMessages(i%3)+`],`+chatTools+`}`); status != 200 {
				t.Errorf("status %d: %s", status, text)
			}
		})
	}
	wg.Wait()
}

func TestJSONIsFoundInAResult(t *testing.T) {
	var list []int
	if err := replay.JSON("see [the list] {1} and\n[1, 2] there", &list); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if err := replay.JSON("no [list", &list); err == nil || !strings.Contains(err.Error(), "no [list") {
		t.Errorf("%v", err)
	}
}
