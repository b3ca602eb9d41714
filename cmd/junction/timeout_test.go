package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// Each command that waits in vain names --timeout, once, and is impatient with the program that it started.
func TestTimeoutIsNamed(t *testing.T) {
	clitest.Alone(t)
	s := mcp.NewServer("s", "1")
	s.AddTool(mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}},
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
	stalled := func(method string) string {
		server := httptest.NewServer(streamable.Handler(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == method {
				<-ctx.Done()
				return mcp.Result{}, context.Cause(ctx)
			}
			return s.Handle(ctx, req)
		})))
		t.Cleanup(server.Close)
		return server.URL
	}
	lists := stalled("tools/list")
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"call", stalled(""), "wait"}, cli.ExitTimeout, `tools/call "wait": no response within 2s; --timeout allows more time`},
		{[]string{"tools", lists}, cli.ExitTimeout, `tools/list: no response or progress for 2s; --timeout allows more time`},
		{[]string{"tools", stalled("server/discover")}, cli.ExitTimeout, `--timeout allows more time`},
		{[]string{"lint", lists}, cli.ExitConnection, `tools/list: no response or progress for 2s; --timeout allows more time`},
		{[]string{"lint", stalled("")}, cli.ExitOK, `its result was not checked; --call wait waits for the whole --timeout`},
		{[]string{"lint", stalled(""), "--no-call", "--call", "wait"}, cli.ExitConnection, `its result was not checked; --timeout allows more time`},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			t.Parallel()
			got := runs(t, "", append(test.args, "--timeout", "2s")...)
			if got.code != test.code || !strings.Contains(got.stderr, test.says) || strings.Count(got.stderr, "--timeout") != 1 {
				t.Errorf("exit code %d, want %d: %s", got.code, test.code, got.stderr)
			}
		})
	}
	for _, limit := range []time.Duration{0, time.Second} {
		a := &cli.App{Place: clitest.PlaceOf(t)}
		a.Launch.Timeout = limit
		typed, err := a.Launch.Command("sh", nil)
		if err != nil {
			t.Fatal(err)
		}
		written, err := a.Launch.Transport(&config.Server{Kind: config.Stdio, Command: "sh"}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, transport := range []mcp.Transport{typed.Transport, written} {
			if got := transport.(*command.Command).Impatient; got != (limit > 0) {
				t.Errorf("with --timeout %v a command is impatient: %v", limit, got)
			}
		}
	}
}
