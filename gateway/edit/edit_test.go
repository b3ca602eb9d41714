package edit_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway/edit"
	"github.com/junction-mcp/junction/mcp"
)

// echoing has tools that say what arguments they got.
func echoing() *mcp.Server {
	s := mcp.NewServer("s", "1")
	for _, name := range []string{"read", "write", "secret"} {
		mcp.AddTool(s, name, func(_ context.Context, in struct {
			Root  string `json:"root"`
			Path  string `json:"path"`
			Limit int    `json:"limit"`
		}) (string, error) {
			text, err := json.Marshal(in)
			return string(text), err
		})
	}
	return s
}

func TestToolsAreAsTheOptionsSay(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	h := edit.Middleware(edit.Options{
		Keep: func(tool string) bool { return tool != "secret" },
		Tools: map[string]edit.Tool{"read": {Title: "Read", Description: "read it",
			Fixed: map[string]json.RawMessage{"root": raw(`"/srv"`)}, Defaults: map[string]json.RawMessage{"limit": raw(`10`), "root": raw(`"/"`)}}},
	})(echoing())
	c := mcp.NewClient(h)
	tools := map[string]*mcp.Tool{}
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = tool
	}
	read := tools["read"]
	if len(tools) != 2 || read.Title != "Read" || read.Description != "read it" {
		t.Errorf("offered are %v", tools)
	}
	if in := string(read.InputSchema); strings.Contains(in, "root") || !strings.Contains(in, `"default":10`) || !strings.Contains(in, `"required":["path"]`) {
		t.Errorf("the schema is %s", in)
	}
	if in := string(tools["write"].InputSchema); !strings.Contains(in, "root") {
		t.Errorf("the other tool's is %s", in)
	}
	for _, test := range []struct{ tool, arguments, want string }{
		{"read", `{"path":"a"}`, `{"root":"/srv","path":"a","limit":10}`},
		{"read", `{"path":"a","root":"/etc","limit":3}`, `{"root":"/srv","path":"a","limit":3}`},
		{"read", `{"path":"a","\u0072oot":"/etc"}`, `{"root":"/srv","path":"a","limit":10}`},
		{"write", `{"path":"a","root":"/etc","limit":3}`, `{"root":"/etc","path":"a","limit":3}`},
	} {
		got, err := mcp.Call[string](t.Context(), c, test.tool, raw(test.arguments))
		if err != nil || got != test.want {
			t.Errorf("%s %s: got %s, %v", test.tool, test.arguments, got, err)
		}
	}
	if _, err := mcp.Call[string](t.Context(), c, "read", nil); err == nil || !strings.Contains(err.Error(), "path") {
		t.Errorf("without what is required: %v", err)
	}
	if _, err := mcp.Call[string](t.Context(), c, "secret", raw(`{"path":"a"}`)); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("one that is not offered: %v", err)
	}
}
