package launch_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/servers/everything"
)

// Connects to a server of a configuration file, as every command of junction does.
func ExampleLauncher_Connect() {
	ctx := context.Background()
	server := httptest.NewServer(streamable.Handler(everything.New()))
	defer server.Close()
	file := filepath.Join(os.TempDir(), fmt.Sprintf("servers-%d.json", os.Getpid()))
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers": {"all": {"url": %q}}}`, server.URL), 0o600); err != nil {
		log.Fatal(err)
	}
	defer os.Remove(file)

	l := launch.Launcher{Config: []string{file}}
	defer l.Close()
	c, err := l.Read()
	if err != nil {
		log.Fatal(err)
	}
	client, err := l.Connect(ctx, c.Entries[0])
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	result, err := client.CallTool(ctx, "echo", map[string]string{"message": "hello"})
	fmt.Println(result.Text(), err)
	// Output: hello <nil>
}
