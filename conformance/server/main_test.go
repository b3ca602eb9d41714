package main

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// connect serves as the program does, and connects a client of the revision.
func connect(t *testing.T, o mcp.ClientOptions) *mcp.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	c, err := mcp.DialWith(t.Context(), streamable.Client("http://"+listener.Addr().String()+"/mcp"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// inBothEras runs a test with a legacy and with a modern client.
func inBothEras(t *testing.T, o mcp.ClientOptions, test func(t *testing.T, c *mcp.Client)) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			o := o
			o.Revision = revision
			test(t, connect(t, o))
		})
	}
}

func TestOnlyLoopbackAddresses(t *testing.T) {
	for addr, ok := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:0": true, "localhost:80": true,
		":80": false, "0.0.0.0:80": false, "example.com:80": false, "192.0.2.1:80": false, "127.0.0.1": false,
	} {
		if err := loopback(addr); (err == nil) != ok {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestSchemaIsListedVerbatim(t *testing.T) {
	inBothEras(t, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if tool.Description == "" {
				t.Errorf("%s: no description", tool.Name)
			}
			if tool.Name != "json_schema_2020_12_tool" {
				continue
			}
			var got, want any
			if json.Unmarshal(tool.InputSchema, &got) != nil || json.Unmarshal([]byte(schema2020), &want) != nil {
				t.Fatal("no JSON")
			}
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			if string(a) != string(b) {
				t.Errorf("got %s", a)
			}
		}
	})
}

// Some tools send requests that the suite answers over several rounds. The same tools also work for a
// client that waits.
func TestServerRequestsAreSentInBothEras(t *testing.T) {
	o := mcp.ClientOptions{
		OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]string{"What is your name?": `{"name":"Ada"}`, "Please confirm": `{"ok":true}`, "Who?": `{"username":"ada","email":"a@example.com"}`,
				"Step 1: What is your name?": `{"name":"Ada"}`, "Step 2: What is your favorite color?": `{"color":"blue"}`, "What context should the prompt use?": `{"context":"tea"}`}[req.Message]
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(content)}, nil
		},
		OnSample: func(_ context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.SamplingContent{mcp.Text("Hi")}}, nil
		},
		OnRoots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a", Name: "A"}}, nil },
	}
	inBothEras(t, o, func(t *testing.T, c *mcp.Client) {
		for tool, want := range map[string]string{
			"test_input_required_result_elicitation":     "Hello, Ada!",
			"test_input_required_result_sampling":        "Hi",
			"test_input_required_result_list_roots":      "Roots: 1\nfile:///a (A)",
			"test_input_required_result_request_state":   "state-ok",
			"test_input_required_result_multiple_inputs": "Hi Ada, with 1 roots",
			"test_input_required_result_multi_round":     "Ada likes blue",
			"test_input_required_result_capabilities":    "Hi Ada",
			"test_elicitation":                           `User response: action=accept, content={"username":"ada","email":"a@example.com"}`,
			"test_sampling":                              "LLM response: Hi",
		} {
			arguments := map[string]map[string]string{"test_elicitation": {"message": "Who?"}, "test_sampling": {"prompt": "Hello"}}[tool]
			result, err := c.CallTool(t.Context(), tool, arguments)
			if err != nil || result.IsError || result.Text() != want {
				t.Errorf("%s: %+v %v, want %q", tool, result, err, want)
			}
		}
		if p, err := c.GetPrompt(t.Context(), "test_input_required_result_prompt", nil); err != nil || p.Messages[0].Content.Text != "Use this context: tea" {
			t.Errorf("prompt: %+v %v", p, err)
		}
	})
}

func TestResultComesAfterTheStreamWasClosed(t *testing.T) {
	inBothEras(t, mcp.ClientOptions{Timeout: 30 * time.Second}, func(t *testing.T, c *mcp.Client) {
		if result, err := c.CallTool(t.Context(), "test_reconnection", struct{}{}); err != nil || !strings.Contains(result.Text(), "successfully") {
			t.Errorf("%+v %v", result, err)
		}
	})
}

func TestTriggersChangeTheLists(t *testing.T) {
	c := mcp.NewClient(newServer())
	for range 2 {
		for _, tool := range []string{"test_trigger_tool_change", "test_trigger_prompt_change"} {
			if result, err := c.CallTool(t.Context(), tool, struct{}{}); err != nil || result.IsError {
				t.Errorf("%s: %+v %v", tool, result, err)
			}
		}
	}
}
