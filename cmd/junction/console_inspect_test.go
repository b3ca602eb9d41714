package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/console/inspect"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/servers/everything"
)

func TestTheInspectorConnectsAsTheOtherCommandsDo(t *testing.T) {
	clitest.Alone(t)
	older := httpsse.Handler(everything.New())
	server := httptest.NewServer(older)
	t.Cleanup(func() { server.Close(); older.Close() })
	program := self(t, "serve", "everything")
	p := clitest.InspectorWith(t, `{"mcpServers":{"program":{"command":`+quoted(t, program[0])+`,"args":["serve","everything"],"env":{"API_KEY":"hush"}}}}`)
	for _, test := range []struct {
		server          inspect.Server
		transport, name string
	}{
		{inspect.Server{Name: "program"}, "stdio", "program"},
		{inspect.Server{Name: "everything"}, "stream", "everything"},
		{inspect.Server{Command: program[0], Args: program[1:], Env: map[string]string{"API_KEY": "hush"}}, "stdio", ""},
		{inspect.Server{URL: server.URL, Headers: map[string]string{"X-Key": "hush"}}, "http+sse", server.URL},
		{inspect.Server{Name: server.URL}, "http+sse", server.URL},
	} {
		path := p.Begin(test.server)
		view := p.Until(path, "state", "state", "connected")
		if got := clitest.Member(view, "transport"); got != test.transport {
			t.Errorf("%+v: transport %s, want %s", test.server, got, test.transport)
		}
		if got := clitest.Member(view, "name"); test.name != "" && got != test.name {
			t.Errorf("%+v: name %s, want %s", test.server, got, test.name)
		}
		if test.transport == "http+sse" {
			p.Until(path, "step", "step", "transport")
		}
		n := clitest.Member(p.Post(path+"/requests", map[string]any{"method": "tools/call", "params": map[string]any{"name": "echo", "arguments": map[string]string{"message": "hi"}}}), "request")
		p.Until(path, "result", "request", n)
		for _, line := range p.All(path) {
			if strings.Contains(line, "hush") {
				t.Errorf("a secret is shown: %s", line)
			}
		}
	}
	path := p.Begin(inspect.Server{Name: "evrything"})
	if got := clitest.Member(p.Until(path, "state", "state", "failed"), "fault.cause"); got != `no server is called "evrything"; did you mean "everything"?` {
		t.Errorf("the cause: %s", got)
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAURLThatCannotBeReadIsNotQuoted(t *testing.T) {
	clitest.Alone(t)
	ask := consoleServed(t)
	for _, address := range []string{"http://127.0.0.1:1/hidden-0123%zz", "http://user:hidden-0123/x@127.0.0.1:1/mcp"} {
		_, begun := ask("POST", "connections", fmt.Sprintf(`{"url":%q}`, address))
		var of struct{ ID string }
		if err := json.Unmarshal([]byte(begun), &of); err != nil {
			t.Fatalf("%v: %s", err, begun)
		}
		got := begun
		for deadline := time.Now().Add(time.Minute); !strings.Contains(got, `"state":"failed"`) && time.Now().Before(deadline); {
			_, got = ask("GET", "connections/"+of.ID, "")
		}
		if !strings.Contains(got, `"state":"failed"`) || strings.Contains(begun+got, "hidden") {
			t.Errorf("%s gets %s", address, got)
		}
	}
}
