package lines_test

import (
	"bufio"
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

// A call that waits for the client's response ends with the input, as no response can arrive.
func TestServeEndsCallsThatWaitForAClientWhoseInputEnded(t *testing.T) {
	s := mcp.NewServer("s", "1")
	asked := make(chan error, 2)
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.Elicit[struct{ N int }](ctx, "n")
		asked <- err
		_, again := mcp.Elicit[struct{ N int }](ctx, "n")
		asked <- again
		return "", err
	})
	e, err := edge.New(s, edge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, toServer := io.Pipe()
	fromServer, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- lines.Serve(t.Context(), e, r, w, nil, mcp.ServeOptions{DrainTimeout: time.Minute})
		w.Close()
	}()
	out := bufio.NewScanner(fromServer)
	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}`)
	out.Scan()
	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
	if out.Scan(); !strings.Contains(out.Text(), "elicitation/create") {
		t.Fatalf("got %s", out.Text())
	}
	toServer.Close()
	if out.Scan(); !strings.Contains(out.Text(), "the input has ended") || !strings.Contains(out.Text(), `"id":2`) {
		t.Errorf("the call ended with %s", out.Text())
	}
	for range 2 {
		if err := <-asked; err == nil || !strings.Contains(err.Error(), "the input has ended") {
			t.Errorf("the tool got %v", err)
		}
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Serve waits, with a drain time of one minute")
	}
}

// A response that a client sends in a batch just before the end of the input still counts.
func TestServeUsesAResponseInABatchBeforeTheEndOfTheInput(t *testing.T) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcp.Roots(ctx)
		return "heard", err
	})
	e, err := edge.New(s, edge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		r, toServer := io.Pipe()
		fromServer, w := io.Pipe()
		go func() {
			lines.Serve(t.Context(), e, r, w, nil, mcp.ServeOptions{DrainTimeout: time.Minute})
			w.Close()
		}()
		out := bufio.NewScanner(fromServer)
		fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},"clientInfo":{"name":"x","version":"1"}}}`)
		out.Scan()
		fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
		out.Scan()
		var asked struct{ ID json.RawMessage }
		if err := json.Unmarshal(out.Bytes(), &asked); err != nil {
			t.Fatalf("%s: %v", out.Text(), err)
		}
		fmt.Fprintf(toServer, `[{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}]`+"\n", asked.ID)
		toServer.Close()
		if out.Scan(); !strings.Contains(out.Text(), "heard") {
			t.Fatalf("the call ended with %s", out.Text())
		}
	}
}
