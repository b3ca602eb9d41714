package httpsse_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/httpsse"
)

// A message has the scopes of its own token, not of the token that opened the stream.
func TestMessagesHaveTheScopesOfTheirToken(t *testing.T) {
	seen := make(chan []string, 10)
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "x", func(context.Context, struct{}) (string, error) { return "", nil })
	h := httpsse.HandlerWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "tools/call" {
			seen <- req.Principal.Scopes
		}
		return s.Handle(ctx, req)
	}), httpsse.Options{Principal: func(r *http.Request) (*mcp.Principal, error) {
		return &mcp.Principal{Subject: "ann", Scopes: strings.Fields(r.Header.Get("X-Scopes"))}, nil
	}})
	server := httptest.NewServer(h)
	defer server.Close()
	defer h.Close()
	open, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	open.Header.Set("X-Scopes", "read admin")
	open.Header.Set("Accept", "text/event-stream")
	stream, err := http.DefaultClient.Do(open)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	to := ""
	for to == "" && lines.Scan() {
		to, _ = strings.CutPrefix(lines.Text(), "data: ")
		if !strings.HasPrefix(to, "/") {
			to = ""
		}
	}
	post := func(body string) {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+to, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Scopes", "read")
		response, err := http.DefaultClient.Do(r)
		if err != nil || response.StatusCode != http.StatusAccepted {
			t.Fatal(response, err)
		}
		response.Body.Close()
	}
	post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{}}}`)
	post(`[{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x","arguments":{}}}]`)
	for range 2 {
		if got := <-seen; strings.Join(got, " ") != "read" {
			t.Errorf("a call with a token for the scope read has the scopes %q", got)
		}
	}
}
