package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/traffic"
	"github.com/junction-mcp/junction/up/layer"
)

// What a server does not get, clients do not get or the audit log does not keep, who watches does not see either.
func TestTrafficHidesRedactedValues(t *testing.T) {
	clitest.Alone(t)
	argv, err := json.Marshal(self(t, "serve", "everything"))
	if err != nil {
		t.Fatal(err)
	}
	config := `{"mcpServers": {"everything": {"command": "env", "args": ` + string(argv) + `}},
		"junction": {"audit": {"folder": "log", "redact": ["/b"]},
			"servers": {"everything": {"redact": {"arguments": ["/message"]}, "tools": {"add": {"redact": {"results": ["/sum"]}}}}}}}`
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tools := range []string{"all", "search"} {
		r := serving(t, "up", "--config", "mcp.json", "--tools", tools)
		seen, ended := watching(t, "--json", "--method", "tools/call", "--count", "8") // two requests and two responses on both sides
		for tool, arguments := range map[string]string{"everything__echo": `{"message":"private"}`, "everything__add": `{"a":2,"b":40}`} {
			if tools == "search" {
				tool, arguments = "call_tool", `{"name":"`+tool+`","arguments":`+arguments+`}`
			}
			runs(t, "", "call", r.url, tool, arguments).expect(t, cli.ExitOK, "***", "")
		}
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("it ends with %d", code)
		}
		all := seen.String()
		for _, hidden := range []string{"private", `"b":40`, `\"b\":40`, `sum":42`, `sum\":42`} {
			if strings.Contains(all, hidden) {
				t.Errorf("%s: %s is shown:\n%s", tools, hidden, all)
			}
		}
		for text, want := range map[string]int{`"message":"***"`: 2, `"a":2,"b":"***"`: 2, `{\"sum\":\"***\"}`: 2} { // on each side
			if got := strings.Count(all, text); got != want {
				t.Errorf("%s: %s is shown %d times, want %d:\n%s", tools, text, got, want, all)
			}
		}
		r.stop()
	}
}

// What is hidden of arguments is hidden of the headers that repeat them.
func TestTrafficDoesNotShowHiddenArgumentsInHeaders(t *testing.T) {
	clitest.Alone(t)
	argv, err := json.Marshal(self(t, "serve", "everything"))
	if err != nil {
		t.Fatal(err)
	}
	config := `{"mcpServers": {"everything": {"command": "env", "args": ` + string(argv) + `}},
		"junction": {"servers": {"everything": {"redact": {"arguments": ["/message"]}}}}}`
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serving(t, "up", "--config", "mcp.json", "--tools", "all")
	defer r.stop()
	seen, ended := watching(t, "--json", "--notes", "--method", "tools/call", "--count", "6") // a request and a response on both sides, headers on one, and a note that the arguments are rewritten
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"everything__echo","arguments":{"message":"Oslo"},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"everything__echo"}, "Mcp-Param-City": {"Oslo"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	<-ended
	if all := seen.String(); strings.Contains(all, "Oslo") || !strings.Contains(all, `"Mcp-Param-City":"***"`) {
		t.Errorf("shown:\n%s", all)
	}
}

// A request passed before anybody who watches now joined, or was missed by all: then nobody knows which tool a result is of.
func TestTrafficHidesResultsOfUnseenRequests(t *testing.T) {
	t.Parallel()
	g := gateway.New(gateway.Options{})
	defer g.Close()
	plan, err := new(layer.Stack).Read(&settings.Settings{Servers: map[string]settings.Server{"everything": {Tools: map[string]settings.Tool{"add": {Redact: settings.Redact{Results: []string{"/sum"}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for hop, wire := range map[string]func(*traffic.Log) mcp.Wire{
		traffic.Client: (*traffic.Log).Clients,
		traffic.Server: func(l *traffic.Log) mcp.Wire { return l.Server("everything") },
	} {
		t.Run(hop, func(t *testing.T) {
			var log traffic.Log
			log.Hide(func(e *traffic.Event) json.RawMessage { return plan.Shown(g, e) })
			log.Join(false) // and does not look
			w := wire(&log)
			ctx := w.Passes(t.Context(), mcp.WireMessage{ToServer: true, Message: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}`)})
			watch := log.Join(false)
			w.Passes(ctx, mcp.WireMessage{Message: []byte(`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"sum":42}}}`)})
			seen := errors.New("it was seen")
			err := watch(t.Context(), func(events []*traffic.Event) error {
				if got := string(events[0].Message); !strings.Contains(got, `"sum":"***"`) {
					t.Errorf("%s of %q is shown as %s", events[0].Method, events[0].Name, got)
				}
				return seen
			})
			if !errors.Is(err, seen) {
				t.Error(err)
			}
		})
	}
}

// Servers choose the URIs of their resources: one that begins as the tools of another server do is not that server's.
func TestTrafficRedactsResourcesWithATranslatedURI(t *testing.T) {
	g := gateway.New(gateway.Options{})
	defer g.Close()
	if err := g.Add("other", gateway.Upstream{Handler: mcp.NewServer("other", "1")}); err != nil {
		t.Fatal(err)
	}
	plan, err := new(layer.Stack).Read(&settings.Settings{Servers: map[string]settings.Server{"everything": {Redact: settings.Redact{Results: []string{"/sum"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	got := plan.Shown(g, &traffic.Event{Hop: traffic.Client, Kind: traffic.Response, Method: "resources/read", Name: "other__sums",
		Message: json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"other__sums","text":"{\"sum\":42}"}]}}`)})
	if strings.Contains(string(got), "42") {
		t.Errorf("shown: %s", got)
	}
}
