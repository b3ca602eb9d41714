package main

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestAddSuggestsACommandForAServerThatDoesNotStart(t *testing.T) {
	clitest.Alone(t)
	s := newPackageSet(t)
	s.runs(t, "", "add", "npm:@x/echo@3.0.0", "--yes").expect(t, cli.ExitConnection, "", "junction server add npm:@x/echo@3.0.0 --env NAME=VALUE -- ARGUMENT…")
	s.versions["@x/keyed@1.0.0"] = []string{"sh", "-c", "echo 'TRACKER_API_KEY is required' >&2; exit 1"}
	s.runs(t, "", "add", "npm:@x/keyed@1.0.0", "--yes", "--no-sandbox").expect(t, cli.ExitConnection, "", "the server needs the environment variable TRACKER_API_KEY: junction server add npm:@x/keyed@1.0.0 --no-sandbox --env TRACKER_API_KEY=…")
}

// A server that offers more to a connection with roots would be shown again, as changed, by the first chat.
func TestAddConnectsWithAllThatAClientCanDeclare(t *testing.T) {
	clitest.Alone(t)
	var declared atomic.Pointer[mcp.ClientCapabilities]
	s := mcp.NewServer("all", "1")
	mcp.AddTool(s, "look", func(context.Context, struct{}) (string, error) { return "", nil })
	server := httptest.NewServer(streamable.Handler(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		declared.CompareAndSwap(nil, req.Meta.Capabilities) // of the connection
		return s.Handle(ctx, req)
	})))
	defer server.Close()
	runs(t, "", "add", server.URL, "--yes").expect(t, cli.ExitOK, "1 tool", "")
	if c := declared.Load(); c == nil || c.Roots == nil || c.Sampling == nil || c.Elicitation == nil {
		t.Errorf("declared were %+v", c)
	}
}
