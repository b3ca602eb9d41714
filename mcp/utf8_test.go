package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// A byte that is not UTF-8, as in a log file, must not fail the whole result, wherever it is.
func TestBytesThatAreNoUTF8AreReplaced(t *testing.T) {
	const raw, want = "a\xffb", "a\ufffdb"
	type line struct{ Line string }
	s := mcp.NewServer("s", "1")
	add := func(name string, f func(ctx context.Context) (*mcp.CallToolResult, error)) {
		s.AddTool(mcp.Tool{Name: name}, func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) { return f(ctx) })
	}
	mcp.AddTool(s, "text", func(context.Context, struct{}) (string, error) { return raw, nil })
	mcp.AddTool(s, "field", func(context.Context, struct{}) (line, error) { return line{raw}, nil })
	mcp.AddTool(s, "key", func(context.Context, struct{}) (map[string]any, error) {
		return map[string]any{raw: json.RawMessage(`"` + raw + `"`)}, nil
	})
	add("structured", func(context.Context) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(raw)}, StructuredContent: json.RawMessage(`{"Line":"` + raw + `"}`)}, nil
	})
	add("error", func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New(raw) })
	add("protocol-error", func(context.Context) (*mcp.CallToolResult, error) { return nil, mcp.Errorf(mcp.CodeInvalidParams, raw) })
	add("notifications", func(ctx context.Context) (*mcp.CallToolResult, error) {
		return nil, errors.Join(mcp.Log(ctx, mcp.LogError, line{raw}), mcp.Progress(ctx, 1, 0, raw))
	})
	for way, connect := range clientWays {
		t.Run(way, func(t *testing.T) {
			var logged, progress string
			c := connect(t, s, mcp.ClientOptions{
				OnLog:      func(m mcp.LogMessage) { logged = string(m.Data) },
				OnProgress: func(p mcp.ProgressUpdate) { progress = p.Message },
			})
			defer c.Close()
			for name, text := range map[string]string{"text": want, "field": `{"Line":"` + want + `"}`, "key": `{"` + want + `":"` + want + `"}`, "structured": want, "error": want} {
				result, err := c.CallTool(t.Context(), name, nil)
				if err != nil || result.Text() != text {
					t.Errorf("%s: %q, %v", name, result.Text(), err)
				}
				if got := string(result.StructuredContent); name == "structured" && got != `{"Line":"`+want+`"}` {
					t.Errorf("%s: %q", name, got)
				}
			}
			var e *mcp.Error
			if _, err := c.CallTool(t.Context(), "protocol-error", nil); !errors.As(err, &e) || e.Message != want && way != "in process" {
				t.Errorf("protocol error %q", err)
			}
			if _, err := c.CallTool(t.Context(), "notifications", nil); err != nil || logged != `{"Line":"`+want+`"}` || progress != want {
				t.Errorf("%v: log %q, progress %q", err, logged, progress)
			}
		})
	}
}
