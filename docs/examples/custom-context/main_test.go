package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestTheTokenReachesTheTool(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Authorization"), " says ", r.FormValue("message"))
	}))
	defer api.Close()
	endpoint = api.URL
	site := httptest.NewServer(fromHeader(streamable.Handler(newServer())))
	defer site.Close()
	authorized := http.Header{"Authorization": {"Bearer 42"}}
	for _, revision := range []string{"2026-07-28", "2025-06-18"} {
		for name, test := range map[string]struct {
			transport mcp.Transport
			want      string
		}{
			"over HTTP":      {streamable.ClientWith(site.URL, streamable.ClientOptions{Header: authorized}), "Bearer 42 says hello"},
			"over a stream":  {stream.Pipe(newServer()), "Bearer 7 says hello"},
			"without header": {streamable.Client(site.URL), ""},
		} {
			ctx := t.Context()
			if name == "over a stream" {
				ctx = withToken(ctx, "Bearer 7")
			}
			c, err := mcp.DialWith(ctx, test.transport, mcp.ClientOptions{Revision: revision})
			if err != nil {
				t.Fatal(err)
			}
			got, err := mcp.Call[string](ctx, c, "make_authenticated_request", map[string]string{"message": "hello"})
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%s, %s: %q, %v", revision, name, got, err)
			}
			c.Close()
		}
	}
}
