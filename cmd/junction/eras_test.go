package main

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// sessionAsker is a server of both eras whose tools and prompt ask in a session only, over HTTP and at a socket.
func sessionAsker(t *testing.T) (ways map[string]string) {
	t.Helper()
	s := mcp.NewServer("asker", "1")
	ask := func(ctx context.Context) (string, error) {
		if !revision.IsLegacy(mcp.RequestFrom(ctx).Meta.Revision) {
			return "", errors.New("elicitation via server-initiated requests is unavailable on 2026-07-28 connections.")
		}
		got, err := mcp.Elicit[struct {
			Name string `json:"name"`
		}](ctx, "name?")
		return "you are " + got.Name, err
	}
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) { return ask(ctx) })
	mcp.AddToolWith(s, mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{IdempotentHint: new(true)}}, func(ctx context.Context, _ struct{}) (string, error) { return ask(ctx) })
	s.AddPrompt(mcp.Prompt{Name: "greet"}, func(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult, error) {
		name, err := ask(ctx)
		if err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidRequest, "%v", err)
		}
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(name)}}}, nil
	})
	endpoint := streamable.Handler(s)
	site := httptest.NewServer(endpoint)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- stream.Serve(ctx, l, s) }()
	t.Cleanup(func() {
		endpoint.Close()
		site.Close()
		cancel()
		<-served
	})
	return map[string]string{"http": site.URL, "socket": "tcp:" + l.Addr().String()}
}

func TestProxyFindsTheEraInWhichAServerCanAsk(t *testing.T) {
	if testing.Short() {
		t.Skip("one command after the other, with other processes")
	}
	clitest.Alone(t)
	for way, server := range sessionAsker(t) {
		for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(way+" "+revision, func(t *testing.T) {
				call := func(url, tool string) outcome {
					return runs(t, "", "call", url, tool, "--elicit", `{"name":"bob"}`, "--revision", revision)
				}
				shared := serving(t, "proxy", server)
				if got := call(shared.url, "ask"); got.code != cli.ExitToolFailed || !strings.Contains(got.stdout, "repeat the call") {
					t.Errorf("the first call: %+v", got)
				}
				for _, tool := range []string{"ask", "look"} {
					call(shared.url, tool).expect(t, cli.ExitOK, "you are bob", "")
				}
				another := serving(t, "proxy", server)
				call(another.url, "look").expect(t, cli.ExitOK, "you are bob", "")

				argv := self(t, "proxy", "--stdio", server)
				got := runs(t, "", append([]string{"call", "look", "--elicit", `{"name":"bob"}`, "--revision", revision, "--"}, argv...)...)
				got.expect(t, cli.ExitOK, "you are bob", "")
			})
		}
	}
}

func TestUpFindsTheEraInWhichAServerAtAURLCanAsk(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			clitest.Alone(t)
			config := configuration(t, map[string]any{"far": map[string]any{"url": sessionAsker(t)["http"]}})
			call := func(url string) outcome {
				return runs(t, "", "call", url, "far__ask", "--elicit", `{"name":"bob"}`, "--revision", revision)
			}
			first := serving(t, "up", "--config", config)
			if got := call(first.url); got.code != cli.ExitToolFailed || !strings.Contains(got.stdout, "repeat the call") {
				t.Errorf("the first call: %+v", got)
			}
			call(first.url).expect(t, cli.ExitOK, "you are bob", "")
			first.stop()
			call(serving(t, "up", "--config", config).url).expect(t, cli.ExitOK, "you are bob", "") // which remembers it
			runs(t, "", "call", "far", "ask", "--config", config, "--elicit", `{"name":"bob"}`).expect(t, cli.ExitOK, "you are bob", "")
		})
	}
}

func TestCallFindsTheEraInWhichAServerCanAsk(t *testing.T) {
	clitest.Alone(t)
	for way, server := range sessionAsker(t) {
		t.Run(way, func(t *testing.T) {
			ask := func(args ...string) outcome {
				return runs(t, "", append(args, "--elicit", `{"name":"bob"}`)...)
			}
			ask("call", server, "ask").expect(t, cli.ExitToolFailed, "With --revision 2025-11-25 the server may be able to ask: repeat the call", "")
			ask("call", server, "ask", "--revision", "2025-11-25").expect(t, cli.ExitOK, "you are bob", "")
			ask("call", server, "look").expect(t, cli.ExitOK, "you are bob", "")
			ask("prompt", server, "greet").expect(t, cli.ExitOK, "you are bob", "")
			ask("call", server, "look", "--revision", "2026-07-28").expect(t, cli.ExitToolFailed, "unavailable on 2026-07-28", "")
		})
	}
}
