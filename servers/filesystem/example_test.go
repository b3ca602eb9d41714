package filesystem_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/filesystem"
)

// ExampleNew connects a client to the server in the same process. To serve a host, pass the server
// to a transport: stdio.Serve(ctx, s).
func ExampleNew() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "notes")
	if err := os.Mkdir(root, 0o755); err != nil {
		fmt.Println(err)
		return
	}
	s, err := filesystem.New(filesystem.Options{Roots: []string{root}, Write: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := mcp.NewClient(s)
	defer c.Close()
	ctx := context.Background()
	for _, call := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"write-file", map[string]any{"path": "notes/today.md", "content": "# Today\nBuy milk.\n"}},
		{"read-file", map[string]any{"path": "notes/today.md", "from_line": 2}},
		{"read-file", map[string]any{"path": "notes/../../etc/passwd"}},
	} {
		result, err := c.CallTool(ctx, call.tool, call.arguments)
		if err != nil {
			fmt.Println(err)
			return
		}
		if result.IsError {
			fmt.Println(call.tool, "was refused")
			continue
		}
		fmt.Println(result.Text())
	}
	// Output:
	// {"path":"notes/today.md","bytes":18,"replaced":false}
	// Buy milk.
	//
	// read-file was refused
}
