package inspect

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// wrong is a server whose lists and results are not valid.
func wrong(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	say := func(body string) (mcp.Result, error) { return mcp.Result{JSON: json.RawMessage(body)}, nil }
	switch req.Method {
	case "server/discover":
		return say(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	case "tools/list":
		return say(`{"tools":[
			{"name":"good","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},
			{"name":"none"},
			{"name":"list","inputSchema":{"type":"array"}},
			{"name":"away","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.com/schema"}}}},
			{"name":"good","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},
			{"inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		return say(map[string]string{
			"fits": `{"content":[],"structuredContent":{"n":1}}`, "wrong": `{"content":[],"structuredContent":{"n":"one"}}`, "missing": `{"content":[]}`,
			"failed": `{"content":[],"isError":true}`, "nothing": `{"structuredContent":{"n":1}}`,
		}[strings.Trim(string(req.Arguments), `{"a:} `)])
	}
	return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "unknown method")
}

func TestFaultsInListsAndResultsAreFound(t *testing.T) {
	c := serve(t, func(context.Context, Server, Hooks) (*Opened, error) {
		return &Opened{Name: "wrong", Transport: stream.Pipe(mcp.HandlerFunc(wrong))}, nil
	})
	path := c.begin(Server{Name: "wrong"})
	c.becomes(path, connected)
	listed := c.ask(path, "tools/list", nil)
	var found []finding
	if err := json.Unmarshal([]byte(text(listed, "findings")), &found); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		if f.Request != 1 || f.Remedy == "" {
			t.Errorf("%+v", f)
		}
		got = append(got, f.Subject+" "+f.Where+": "+f.Problem)
	}
	want := []string{
		`none inputSchema: it is missing: a tool without arguments has {"type": "object"}`,
		`list inputSchema: its type is not "object", the type of arguments`,
		`away inputSchema: the schema cannot be used: `,
		`good name: two entries have the same value`,
		` tools/list: tools[5]: an entry of a list without a name, or without another member that it needs`,
	}
	for i, problem := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], problem) {
			t.Fatalf("found\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if len(got) != len(want) {
		t.Errorf("found %d, want %d", len(got), len(want))
	}
	for kind, want := range map[string]string{
		"fits": "", "failed": "", "wrong": "it does not fit the tool's output schema: ", "missing": "the tool has an output schema, but the result has no structured content",
		"nothing": "a missing member that can have only one value",
	} {
		called := c.ask(path, "tools/call", object{"name": "good", "arguments": object{"a": kind}})
		var found []finding
		_ = json.Unmarshal([]byte(text(called, "findings")), &found) // absent if there are none
		switch {
		case want == "" && len(found) > 0, want != "" && (len(found) != 1 || !strings.HasPrefix(found[0].Problem, want)):
			t.Errorf("%s: found %+v, want %q", kind, found, want)
		}
	}
}

func TestHeadersAreShownWithoutSecrets(t *testing.T) {
	c := newConnection(New(Options{}), "c", Server{})
	defer c.idle.Stop()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "secret=1")
		w.Header().Set("Mcp-Session-Id", "secret")
		w.Header().Set("Www-Authenticate", `Bearer scope="read", resource_metadata="https://example.com/.well-known/x?key=secret"`)
		w.Header().Set("X-Auth-Token", "secret")
		w.Header().Set("Location", "/callback?code=secret")
		w.Header().Set("Retry-After", "7")
	}))
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/mcp?token=secret", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Mcp-Session-Id", "Proxy-Authorization", "Dpop"} {
		req.Header.Set(name, "Bearer secret")
	}
	req.Header.Set("Mcp-Method", "ping")
	req.Header.Set("Mcp-Param-Place", "Oslo")
	req.Header.Set("Mcp-Param-Token", "secret")
	response, err := (&http.Client{Transport: c.transport(nil, false)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	events, _, _, _ := c.journal.after(0)
	if len(events) != 1 || events[0].name != "http" {
		t.Fatalf("%d events", len(events))
	}
	shown := events[0].data
	if strings.Contains(string(shown), "secret") {
		t.Errorf("a secret is shown: %s", shown)
	}
	for path, want := range map[string]string{
		"rpc": "7", "purpose": "server", "method": "POST", "status": "200", "requestHeaders.Mcp-Method": "ping", "requestHeaders.Mcp-Param-Place": "Oslo",
		"requestHeaders.Authorization": "Bearer ***", "requestHeaders.X-Api-Key": "***", "responseHeaders.Www-Authenticate": `Bearer scope="read", resource_metadata="https://example.com/.well-known/x?key=***"`,
		"responseHeaders.Set-Cookie": "***", "responseHeaders.X-Auth-Token": "***", "responseHeaders.Location": "/callback?***", "responseHeaders.Retry-After": "7", "requestHeaders.Mcp-Param-Token": "***",
	} {
		if got := text(shown, path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
