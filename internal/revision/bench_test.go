package revision_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// toolList returns a list of n tools of about 500 bytes, each with an output schema.
func toolList(n int) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.Array("tools")
	for i := range n {
		w.ObjectElement()
		w.String("name", fmt.Sprint("tool", i))
		w.String("description", strings.Repeat("What the tool does. ", 10))
		w.Raw("inputSchema", json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","description":"What to say."},"times":{"type":"integer"}},"required":["text"]}`))
		w.Raw("outputSchema", json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`))
		w.End()
	}
	return w.Bytes()
}

func BenchmarkAppendResult(b *testing.B) {
	short := json.RawMessage(`{"content":[{"type":"text","text":"hello, sea"}]}`)
	structured := json.RawMessage(`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`)
	for _, c := range []struct {
		name, revision, method string
		body                   json.RawMessage
	}{
		{"a call, modern", "2026-07-28", "tools/call", short},
		{"a call, legacy", "2025-06-18", "tools/call", short},
		{"a structured call, 2025-03-26", "2025-03-26", "tools/call", structured},
		{"50 tools, modern", "2026-07-28", "tools/list", toolList(50)},
		{"50 tools, legacy", "2025-06-18", "tools/list", toolList(50)},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := revision.Lookup(c.revision)
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				out, err := r.AppendResult(dst[:0], c.method, revision.Envelope{TTL: 1000}, revision.Body{JSON: c.body})
				if err != nil {
					b.Fatal(err)
				}
				dst = out
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	for _, c := range []struct{ name, revision, result string }{
		{"modern", "2026-07-28", `{"resultType":"complete","content":[{"type":"text","text":"hello, sea"}],"_meta":{"a":1}}`},
		{"legacy", "2025-06-18", `{"content":[{"type":"text","text":"hello, sea"}]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := revision.Lookup(c.revision)
			members, fault := jsonrpc.Index([]byte(c.result), jsonrpc.Limits{})
			if fault != nil {
				b.Fatal(fault)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Split("tools/call", json.RawMessage(c.result), &members)
			}
		})
	}
}
