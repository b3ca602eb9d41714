package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
)

func TestPatternsOfScopesMatchSlashes(t *testing.T) {
	for _, test := range []struct {
		pattern, tool string
		needs         bool
	}{
		{"*", "drop", true},
		{"*", "admin/drop", true},
		{"*", "admin/all/drop", true},
		{"admin*", "admin/drop", true},
		{"admin/*", "admin/drop", true},
		{"admin/*", "admin/all/drop", true},
		{"*/drop", "admin/all/drop", true},
		{"admin?drop", "admin/drop", true},
		{"admin/drop", "admin/drop", true},
		{"admin[/.]drop", "admin/drop", true},
		{"admin/*", "admin", false},
		{"drop", "admin/drop", false},
	} {
		h := middleware.ToolScopes(map[string][]string{test.pattern: {"admin"}})(mcp.NewServer("s", "1"))
		req := mcp.NewRequest("tools/call", fmt.Appendf(nil, `{"name":%q}`, test.tool))
		req.Principal = &mcp.Principal{Issuer: "i", Subject: "ada"}
		_, err := h.Handle(t.Context(), req)
		if _, lacks := errors.AsType[*mcp.ScopeError](err); lacks != test.needs {
			t.Errorf("%s of %s: got %v", test.pattern, test.tool, err)
		}
		list := middleware.ToolScopes(map[string][]string{test.pattern: {"admin"}})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			return mcp.Result{JSON: fmt.Appendf(nil, `{"tools":[{"name":%q,"inputSchema":{"type":"object"}}]}`, test.tool)}, nil
		}))
		req = mcp.NewRequest("tools/list", json.RawMessage(`{}`))
		req.Principal = &mcp.Principal{Issuer: "i", Subject: "ada"}
		result, err := list.Handle(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if tools, err := result.ListTools(); err != nil || len(tools.Tools) == 1 == test.needs {
			t.Errorf("%s of %s: listed are %d tools, %v", test.pattern, test.tool, len(tools.Tools), err)
		}
	}
}
