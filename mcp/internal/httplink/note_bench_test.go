package httplink

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkNote measures a note of the headers of an exchange, with those of an earlier one and
// with new ones.
func BenchmarkNote(b *testing.B) {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	for name, value := range map[string]string{"Accept": "application/json, text/event-stream", "Accept-Encoding": "gzip", "Content-Type": "application/json", "Content-Length": "345",
		"Mcp-Method": "tools/call", "Mcp-Name": "up__echo", "Mcp-Protocol-Version": "2026-07-28", "User-Agent": "Go-http-client/1.1"} {
		r.Header.Set(name, value)
	}
	response := http.Header{"Content-Type": {"application/json"}}
	for _, changes := range []bool{false, true} {
		b.Run(map[bool]string{false: "again", true: "another"}[changes], func(b *testing.B) {
			var x Exchanges
			var n discarded
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i++; changes {
					r.Header["Traceparent"] = []string{strings.Repeat("0", i%50) + string(rune('a'+i%26))}
				}
				x.Note(&n, r, 200, response)
			}
		})
	}
}

type discarded struct{ buffer []byte }

func (d *discarded) Note(_ string, note any) {
	if a, is := note.(interface{ AppendJSON([]byte) ([]byte, error) }); is {
		d.buffer, _ = a.AppendJSON(d.buffer[:0])
	}
}
