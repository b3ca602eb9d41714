package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
)

// paged returns a server whose page n, from 0, is the result of the function. Its tools return
// their names.
func paged(page func(n int) (tools, cursor string, err error)) mcp.Handler {
	asked := 0
	return mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		switch req.Method {
		case "tools/call":
			return mcp.Result{Value: &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("this is " + req.Name)}}}, nil
		case "tools/list":
		default:
			return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no")
		}
		if jsonrpc.Get(req.Params, "cursor") == nil {
			asked = 0
		}
		tools, cursor, err := page(asked)
		asked++
		if err != nil {
			return mcp.Result{}, err
		}
		return mcp.Result{JSON: json.RawMessage(fmt.Sprintf(`{"tools":[%s],"nextCursor":%s}`, tools, cursor))}, nil
	})
}

const toolA, toolB = `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"object"}}`

// oddPages returns lists whose pages do not end properly. Each has a and b on its first two pages.
func oddPages() map[string]func(n int) (tools, cursor string, err error) {
	tools := func(n int) string {
		switch n {
		case 0:
			return toolA
		case 1:
			return toolB
		}
		return ""
	}
	return map[string]func(n int) (string, string, error){
		"a cursor that does not advance": func(n int) (string, string, error) { return tools(n), `"x"`, nil },
		"an empty cursor":                func(n int) (string, string, error) { return tools(n), `""`, nil },
		"two cursors in turn":            func(n int) (string, string, error) { return tools(n), fmt.Sprint(n % 2), nil },
		"a cursor that is null":          func(n int) (string, string, error) { return tools(n), []string{`"x"`, `null`}[n], nil },
		"pages without an end":           func(n int) (string, string, error) { return tools(n), fmt.Sprint(n), nil },
		"a page that fails": func(n int) (string, string, error) {
			if n == 2 {
				return "", "", mcp.Errorf(mcp.CodeInternalError, "page 3")
			}
			return tools(n), fmt.Sprint(n), nil
		},
	}
}

func TestEndlessPages(t *testing.T) {
	for name, page := range oddPages() {
		complete := name != "pages without an end" && name != "a page that fails"
		t.Run(name, func(t *testing.T) {
			edit := mcp.NewClient(middleware.EditTools(func(t *mcp.Tool) bool { return t.Name != "a" })(paged(page)))
			defer edit.Close()
			if got, err := edit.CallTool(t.Context(), "b", nil); err != nil || got.Text() != "this is b" {
				t.Errorf("the tool of the second page: %+v, %v", got, err)
			}
			if _, err := edit.CallTool(t.Context(), "a", nil); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
				t.Errorf("the tool that is left out: %v", err)
			}
			if got, err := edit.CallTool(t.Context(), "c", nil); (err == nil) != complete {
				t.Errorf("a tool that is not listed, where the list is complete or not: %+v, %v", got, err)
			}

			add := mcp.NewClient(middleware.AddTools(paged(page))(serverOf(10, "own")))
			defer add.Close()
			var listed []string
			for tool, err := range add.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				listed = append(listed, tool.Name)
			}
			if got := fmt.Sprint(listed); got != "[own a b]" {
				t.Errorf("listed %s", got)
			}
		})
	}
}
