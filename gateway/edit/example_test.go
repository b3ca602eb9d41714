package edit_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/gateway/edit"
	"github.com/junction-mcp/junction/mcp"
)

func Example() {
	s := mcp.NewServer("files", "1")
	mcp.AddTool(s, "read", func(_ context.Context, in struct{ Root, Path string }) (string, error) {
		return in.Root + "/" + in.Path, nil
	})
	h := edit.Middleware(edit.Options{Tools: map[string]edit.Tool{
		"read": {Description: "read a file of the project", Fixed: map[string]json.RawMessage{"Root": json.RawMessage(`"/srv"`)}},
	}})(s)
	text, err := mcp.Call[string](context.Background(), mcp.NewClient(h), "read", map[string]any{"Path": "a.txt"})
	fmt.Println(text, err)
	// Output: /srv/a.txt <nil>
}
