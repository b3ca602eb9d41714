package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func TestACallIsLoggedFromItsArgumentsToItsResult(t *testing.T) {
	var log bytes.Buffer
	c := mcp.NewClient(newHandler(slog.New(slog.NewTextHandler(&log, nil))))
	defer c.Close()
	if text, err := mcp.Call[string](t.Context(), c, "greet", Person{"World"}); err != nil || text != "Hello, World!" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := c.CallTool(t.Context(), "nothing", nil); err == nil {
		t.Error("an unknown tool was called")
	}
	for _, want := range []string{"method=server/discover", `"Calling tool" name=greet args="{\"name\":\"World\"}"`, "isError=false", "MCP method failed"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, &log)
		}
	}
}
