package live

import (
	"context"
	"encoding/json"
	"runtime"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/traffic"
)

// BenchmarkCall measures a call over HTTP from the observation of its messages to the ring: a
// request and a response with constant headers on each hop.
func BenchmarkCall(b *testing.B) {
	asked := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"the text to echo, sixty-four bytes long, as those of people are"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	answered := []byte(`{"jsonrpc":"2.0","id":17,"result":{"resultType":"complete","content":[{"type":"text","text":"the text to echo, sixty-four bytes long, as those of people are"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bare","version":"1"}}}}`)
	headers := json.RawMessage(`{"method":"POST","url":"http://127.0.0.1:7717/mcp","requestHeaders":{"Accept":["application/json, text/event-stream"],"Accept-Encoding":["gzip"],"Content-Type":["application/json"],"Mcp-Method":["tools/call"],"Mcp-Name":["up__echo"],"Mcp-Protocol-Version":["2026-07-28"],"User-Agent":["Go-http-client/1.1"]},"status":200,"responseHeaders":{"Content-Type":["application/json"]}}`)
	r := opened(b, Options{})
	var l traffic.Log
	watch := l.Join(true)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() {
		ended <- watch(ctx, func(events []*traffic.Event) error {
			r.Add(7, events...)
			return nil
		})
	}()
	near, far := l.Clients(), l.Server("up")
	who := &mcp.Implementation{Name: "bench", Version: "1"}
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); {
		seen := near.Passes(b.Context(), mcp.WireMessage{ToServer: true, Message: asked, Revision: "2026-07-28", Client: who, Transport: mcp.TransportHTTP})
		sent := far.Passes(seen, mcp.WireMessage{ToServer: true, Message: asked, Transport: mcp.TransportHTTP})
		mcp.NoteObserverOf(sent, "http").Note("http", headers)
		far.Passes(sent, mcp.WireMessage{Message: answered, Transport: mcp.TransportHTTP})
		near.Passes(seen, mcp.WireMessage{Message: answered, Revision: "2026-07-28", Client: who, Transport: mcp.TransportHTTP})
		mcp.NoteObserverOf(seen, "http").Note("http", headers)
		if i += 6; i%2_100 == 0 { // few enough to be taken at once
			for r.newest() < i {
				runtime.Gosched()
			}
		}
	}
	cancel()
	<-ended
}
