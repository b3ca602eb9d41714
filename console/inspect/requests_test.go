package inspect

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// clientOf returns a client of a server that gives the same response to every request, until the
// test ends.
func clientOf(t *testing.T, answer func() (mcp.Result, error)) *mcp.Client {
	t.Helper()
	h := mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "server/discover" {
			return mcp.Result{JSON: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)}, nil
		}
		return answer()
	})
	client, err := mcp.DialWith(t.Context(), stream.PipeWith(h, mcp.ServeOptions{}), mcp.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// A server with long errors must not fill the memory: errors count towards the limit.
func TestErrorsCountTowardsTheBound(t *testing.T) {
	if testing.Short() {
		t.Skip("one request after the other, with large errors")
	}
	long := strings.Repeat("x", 1<<20-100)
	client := clientOf(t, func() (mcp.Result, error) {
		return mcp.Result{}, &mcp.Error{Code: -1, Message: long, Data: json.RawMessage(`"` + long + `"`)}
	})
	inspector := New(Options{})
	defer inspector.Close()
	c := newConnection(inspector, "x", Server{Command: "x"})
	for range 2 * maxRequestBytes >> 20 {
		q := &pageRequest{Method: "tools/call", Params: json.RawMessage(`{"name":"t"}`), State: running, Began: time.Now()}
		if err := c.enter(q, time.Minute); err != nil {
			t.Fatal(err)
		}
		c.perform(q, client, &attempt{})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	held := 0
	for _, q := range c.requests {
		if q.Error == nil || len(q.Error.Data) != len(long)+2 || len(q.Error.Cause) > 4*maxDetail {
			t.Fatalf("request %d has the error %.200v", q.Request, q.Error)
		}
		held += len(q.Error.Cause) + len(q.Error.Data)
	}
	if held > maxRequestBytes || len(c.requests) < maxRequestBytes>>21 {
		t.Errorf("%d requests hold %d bytes, want at most %d", len(c.requests), held, maxRequestBytes)
	}
}

// Entries of one digit take many times the memory that they have in the message.
func TestAListIsLimitedInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine reads a list of 64 MiB")
	}
	client := clientOf(t, func() (mcp.Result, error) {
		return mcp.Result{JSON: json.RawMessage(`{"tools":[` + strings.Repeat(`{"name":"a"},`, 500_000) + `{"name":"a"}]}`)}, nil
	})
	inspector := New(Options{})
	defer inspector.Close()
	c := newConnection(inspector, "x", Server{Command: "x"})
	q := &pageRequest{Method: "tools/list", State: running, Began: time.Now()}
	if err := c.enter(q, time.Minute); err != nil {
		t.Fatal(err)
	}
	c.perform(q, client, &attempt{})
	if q.Error == nil || !strings.HasPrefix(q.Error.Cause, "the list takes more than 16 MiB") {
		t.Errorf("the request has the error %v, and a result of %d bytes", q.Error, len(q.Result))
	}
}

// Reading a description must hold no lock while the server acknowledges the subscription.
func TestADescriptionDoesNotChange(t *testing.T) {
	inspector := New(Options{})
	defer inspector.Close()
	c := newConnection(inspector, "x", Server{Command: "x"})
	c.subscription = &subscription{Filter: mcp.SubscriptionFilter{ToolsListChanged: true}}
	described := c.view()
	c.subscription.Agreed = &mcp.SubscriptionFilter{}
	if described.Listens == nil || !described.Listens.Filter.ToolsListChanged || described.Listens.Agreed != nil {
		t.Errorf("it became %+v", described.Listens)
	}
}
