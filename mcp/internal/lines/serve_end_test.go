package lines_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/lines"
)

// hostileTalker sends notifications to every listener.
type hostileTalker struct{ sent chan struct{} }

func (h hostileTalker) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case "server/discover":
		return mcp.Result{JSON: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)}, nil
	case "subscriptions/listen":
		req.Peer.Notify(ctx, "notifications/subscriptions/acknowledged", json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
		close(h.sent)
		req.Peer.Notify(ctx, "notifications/tools/list_changed", nil)
		<-ctx.Done()
	}
	return mcp.Result{}, ctx.Err()
}

// A client that does not read must not keep the process alive.
func TestServeEndsThoughTheClientReadsNoNotifications(t *testing.T) {
	h := hostileTalker{make(chan struct{})}
	e, err := edge.New(h, edge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, toServer := io.Pipe()
	fromServer, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- lines.Serve(ctx, e, r, w, func() { r.Close() }, mcp.ServeOptions{DrainTimeout: 500 * time.Millisecond})
	}()
	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	buf := make([]byte, 4096)
	n, _ := fromServer.Read(buf)
	if !strings.Contains(string(buf[:n]), "protocolVersion") {
		t.Fatal(string(buf[:n]))
	}
	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	<-h.sent
	time.Sleep(100 * time.Millisecond)
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("Serve runs 10 s after its context ended, with a drain time of 0.5 s")
		fromServer.Close()
		<-ended
	}
}
