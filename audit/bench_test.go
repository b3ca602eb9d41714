package audit

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func BenchmarkAppend(b *testing.B) {
	for _, noSync := range []bool{true, false} {
		l, err := Open(filepath.Join(b.TempDir(), "audit"), Options{Key: testKey(b), NoSync: noSync})
		if err != nil {
			b.Fatal(err)
		}
		record := Record{Kind: KindCall, Call: "ABCDEFGHIJKLMNOP", Method: "tools/call", Name: "files__read_file", Client: "inspector/1.0", Outcome: "ok", Sent: 100, Received: 1000}
		name := "one, to the disk"
		if noSync {
			name = "one, to the system"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := record
				if err := l.Append(&r); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+", 64 at a time", func(b *testing.B) {
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r := record
					if err := l.Append(&r); err != nil {
						b.Error(err)
					}
				}
			})
		})
		_ = l.Close()
	}
}

// BenchmarkDefinition measures reading the fields about a tool from its definition, which happens
// with every call.
func BenchmarkDefinition(b *testing.B) {
	definition := []byte(`{"name":"read_file","description":"` + strings.Repeat("Reads a file. ", 30) + `","inputSchema":{"type":"object","properties":{` +
		strings.Repeat(`"a":{"type":"string","description":"a text"},`, 20) + `"b":{"type":"string"}}},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`)
	b.Run("hash", func(b *testing.B) {
		for b.Loop() {
			HashOf(definition)
		}
	})
	b.Run("hints", func(b *testing.B) {
		for b.Loop() {
			if len(HintsOf(definition)) != len(`{"readOnly":true,"openWorld":false}`) {
				b.Fatal()
			}
		}
	})
}

func BenchmarkCalls(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "audit"), Options{Key: testKey(b), NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	h := l.Calls(CallOptions{Arguments: func(_ *mcp.Request, data json.RawMessage) json.RawMessage { return Redacted(data) }})(
		mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			return mcp.Result{JSON: []byte(`{"content":[{"type":"text","text":"hello"}]}`)}, nil
		}))
	req := mcp.NewRequest("tools/call", []byte(`{"name":"echo","arguments":{"text":"hello"}}`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Handle(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
