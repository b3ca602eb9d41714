//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// Behind a proxy that speaks the PROXY protocol, clients have their own addresses.
func TestClientsBehindTheProxyProtocol(t *testing.T) {
	clitest.Alone(t)
	key := strings.TrimSpace(runs(t, "", "key", "create", "ann").stdout)
	r := serving(t, "up", "--auth", "keys", "--audit=log", "--trusted-proxy", "127.0.0.1", "--proxy-protocol", "everything")
	through := func(client string) *http.Client {
		return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil && client != "" {
				_, err = fmt.Fprintf(c, "PROXY TCP4 %s 127.0.0.1 1234 80\r\n", client)
			}
			return c, err
		}}}
	}
	c, err := mcp.Dial(t.Context(), streamable.ClientWith(r.url, streamable.ClientOptions{HTTP: through("203.0.113.1"), Header: http.Header{"Authorization": {"Bearer " + key}}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if result, err := c.CallTool(t.Context(), "everything__add", map[string]any{"a": 1, "b": 2}); err != nil || result.Text() != `{"sum":3}` {
		t.Errorf("%+v, %v", result, err)
	}
	for _, client := range []string{"203.0.113.2", "203.0.113.3"} { // each has its own line
		req, _ := http.NewRequest(http.MethodPost, r.url, strings.NewReader(addCall))
		req.Header.Set("Authorization", "Bearer jk_none_x")
		req.Header.Set("X-Forwarded-For", "198.51.100.1") // by the client
		response, err := through(client).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s gets %d", client, response.StatusCode)
		}
	}
	if response, err := through("").Get(r.url); err == nil {
		response.Body.Close()
		t.Errorf("without the header there is a response: %s", response.Status)
	}
	r.stop()
	lines := runs(t, "", "audit", "query", "log", "--event", "login").stdout
	if strings.Count(lines, "from 203.0.113.2") != 1 || strings.Count(lines, "from 203.0.113.3") != 1 || strings.Contains(lines, "198.51") {
		t.Errorf("the log has %s", lines)
	}
	runs(t, "", "up", "--http", "127.0.0.1:0", "--proxy-protocol", "everything").expect(t, cli.ExitUsage, "", "goes with --trusted-proxy")
}
