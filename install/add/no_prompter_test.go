package add_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A Launcher without a Prompter has no user, and with Yes none is needed.
func TestAddWithoutAPrompter(t *testing.T) {
	s := mcp.NewServer("notes", "1.0")
	mcp.AddTool(s, "put", func(context.Context, struct{ Text string }) (string, error) { return "kept", nil })
	server := httptest.NewServer(streamable.Handler(s))
	defer server.Close()
	l := launch.Launcher{}
	defer l.Close()
	a := add.Adder{File: filepath.Join(t.TempDir(), "mcp.json"), Launcher: &l}
	if _, err := a.Add(t.Context(), server.URL, add.Options{Name: "notes", Yes: true}); err != nil {
		t.Error(err)
	}
}
