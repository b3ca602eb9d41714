package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// FuzzCursor requests any page of a list and follows it to its end. The result must be invalid
// params, or pages without duplicate entries.
func FuzzCursor(f *testing.F) {
	const tools, page = 10, 3
	s := mcp.NewServerWith("s", "1", mcp.ServerOptions{PageSize: page})
	for i := range tools {
		mcp.AddTool(s, fmt.Sprintf("tool-%d", i), func(context.Context, struct{}) (string, error) { return "", nil })
	}
	for _, seed := range []string{`null`, `""`, `"ajE6"`, `"ajE6dG9vbC0y"`, `"ajE6dG9vbC0yMg"`, `"ajE6enp6"`, `"ajE6dG9vbC05"`, `1`, `{}`, `"\u0061jE6"`, `"!"`, `"ajE6dG9vbC0y=="`, `"ajE6dG9vbC0z\n"`, `"ajE6_w"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, cursor []byte) {
		if jsonrpc.Valid(cursor, jsonrpc.Limits{}) != nil {
			t.Skip() // messages are checked before they are handled
		}
		seen := make(map[string]bool)
		for pages := 0; cursor != nil; pages++ {
			result, err := s.Handle(t.Context(), mcp.NewRequest("tools/list", fmt.Appendf(nil, `{"cursor":%s}`, cursor)))
			if err != nil {
				var fault *mcp.Error
				if !errors.As(err, &fault) || fault.Code != mcp.CodeInvalidParams || pages > 0 {
					t.Fatalf("cursor %s, page %d: %v", cursor, pages, err)
				}
				return
			}
			var list struct {
				Tools      []struct{ Name string }
				NextCursor json.RawMessage
			}
			if err := json.Unmarshal(result.JSON, &list); err != nil || len(list.Tools) > page || pages > tools/page {
				t.Fatalf("cursor %s, page %d: %s, %v", cursor, pages, result.JSON, err)
			}
			for _, tool := range list.Tools {
				if seen[tool.Name] {
					t.Fatalf("cursor %s: %s stands twice", cursor, tool.Name)
				}
				seen[tool.Name] = true
			}
			if list.NextCursor != nil && len(list.Tools) != page {
				t.Fatalf("cursor %s: a page of %d that is not the last", cursor, len(list.Tools))
			}
			cursor = list.NextCursor
		}
	})
}
