package upstream_test

import (
	"context"
	"errors"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

func TestAProxyComparesHeadersWithArguments(t *testing.T) {
	s := mcp.NewServer("headers", "1")
	mcp.AddTool(s, "query", func(_ context.Context, in struct {
		Region string `json:"region" header:"Region"`
	}) (string, error) {
		return in.Region, nil
	})
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		proxy, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{Bridge: true, Revision: revision})
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		for _, err := range proxy.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			name   string
			header map[string][]string
			code   int
		}{
			{"the same", map[string][]string{"Mcp-Param-Region": {"eu"}}, 0},
			{"another value", map[string][]string{"Mcp-Param-Region": {"us"}}, mcp.CodeHeaderMismatch},
			{"none", map[string][]string{}, mcp.CodeHeaderMismatch},
			{"a transport without headers", nil, 0},
		} {
			req := mcp.NewRequest("tools/call", []byte(`{"name":"query","arguments":{"region":"eu"}}`))
			req.ParamHeaders = c.header
			_, err := proxy.Handle(t.Context(), req)
			var fault *mcp.Error
			if errors.As(err, &fault) != (c.code != 0) || fault != nil && fault.Code != c.code {
				t.Errorf("%s, %s: %v, want code %d", revision, c.name, err, c.code)
			}
		}
	}
}
