package edge

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
)

// TestIDsWithFractions sends requests whose ids are integers written in another way, such as 1.0. A
// response repeats the id as it was sent, a cancellation matches it by value, and two requests with
// equal ids never run at once.
func TestIDsWithFractions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan string, 1)
		h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tools/call" {
				seen <- string(req.Params)
				<-ctx.Done()
				return mcp.Result{}, ctx.Err()
			}
			return mcp.Result{JSON: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{}}`)}, nil
		})
		e, err := New(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := e.NewConnection(t.Context(), hostileOut{}, nil)
		defer c.Close()
		say := func(message string) string {
			var j Job
			if !c.Accept(&j, []byte(message)) {
				return ""
			}
			return string(j.Run(nil))
		}
		if got, want := say(`{"jsonrpc":"2.0","id":1.0,"method":"ping"}`), `{"jsonrpc":"2.0","id":1.0,"result":{}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got, want := say(`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"offset 22: expected an id that is an integer in plain digits, found '1'"}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if say(`{"jsonrpc":"2.0","id":2e0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`) == "" {
			t.Fatal("no session")
		}
		ended := make(chan string)
		go func() {
			ended <- say(`{"jsonrpc":"2.0","id":30.0,"method":"tools/call","params":{"name":"a","arguments":{"b":"x\ud83d"}}}`)
		}()
		if got, want := <-seen, `{"name":"a","arguments":{"b":"x\ufffd"}}`; got != want {
			t.Errorf("params %s, want %s", got, want)
		}
		if got, want := say(`{"jsonrpc":"2.0","id":3e1,"method":"ping"}`), `{"jsonrpc":"2.0","id":3e1,"error":{"code":-32600,"message":"a request with the id 30 is running already"}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":30}}`)
		if got := <-ended; got != "" {
			t.Errorf("after the cancellation came %s", got)
		}
	})
}
