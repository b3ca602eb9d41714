package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/launch"
)

// Requests without a credential that are answered before their body came end within seconds, whatever the path, and others are served
// meanwhile.
func TestBodiesThatDoNotComeKeepNoConnection(t *testing.T) {
	clitest.Alone(t)
	key := strings.TrimSpace(runs(t, "", "key", "create", "ann").stdout)
	r := serving(t, "up", "--auth", "keys", "everything")
	address := strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), launch.EndpointPath)
	var all sync.WaitGroup
	for _, path := range []string{"/mcp", "/sse", "/mcp/nothing", "/nothing"} {
		for _, head := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			all.Go(func() {
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\n\r\n", path, address, head)
				began := time.Now()
				_ = conn.SetReadDeadline(began.Add(10 * time.Second))
				said, err := io.ReadAll(conn)
				if err != nil || !bytes.HasPrefix(said, []byte("HTTP/1.1 4")) {
					t.Errorf("%s with %s: %.40q after %v, %v", path, head, said, time.Since(began), err)
				}
			})
		}
	}
	all.Wait()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
	req.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("with a key: %v, %v", resp, err)
	}
}
