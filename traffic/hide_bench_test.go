package traffic

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// BenchmarkMessage measures the cost of a message for watchers, and for the call.
func BenchmarkMessage(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"name":"ann"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"me","version":"2"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	b.Run("shown", func(b *testing.B) {
		b.ReportAllocs()
		var shown []byte
		var last wordsBefore
		for b.Loop() {
			e := Event{Time: time.Now(), Kind: Request, Method: "tools/call", Name: "echo", ID: json.RawMessage(`17`), Message: text}
			shown = e.hide(shown[:0], &last)
		}
	})
	b.Run("passes", func(b *testing.B) {
		var l Log
		w := l.Clients()
		b.ReportAllocs()
		for b.Loop() {
			w.Passes(b.Context(), mcp.WireMessage{ToServer: true, Message: text})
		}
	})
}
