package live

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/traffic"
)

// BenchmarkNote measures the headers of an HTTP exchange from the note to the ring: a note of its
// own, and one that many exchanges share.
func BenchmarkNote(b *testing.B) {
	text := json.RawMessage(`{"method":"POST","url":"http://127.0.0.1:7717/mcp","requestHeaders":{"Accept":["application/json, text/event-stream"],"Accept-Encoding":["gzip"],"Content-Type":["application/json"],"Mcp-Method":["tools/call"],"Mcp-Name":["up__echo"],"Mcp-Protocol-Version":["2026-07-28"],"User-Agent":["Go-http-client/1.1"]},"status":200,"responseHeaders":{"Content-Type":["application/json"]}}`)
	for name, note := range map[string]any{"of its own": own{text}, "of many": text} {
		b.Run(name, func(b *testing.B) {
			r := opened(b, Options{})
			var l traffic.Log
			watch := l.Join(true)
			n := l.Calling("bench/1", "up", "tools/call", "up__echo")
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error)
			go func() {
				ended <- watch(ctx, func(events []*traffic.Event) error {
					r.Add(7, events...)
					return nil
				})
			}()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				n.Note("http", note)
				if i++; i%2_100 == 0 { // few enough to be taken at once
					for r.newest() < uint64(i) {
					}
				}
			}
			cancel()
			<-ended
		})
	}
}

// own is a note that is encoded each time.
type own struct{ text json.RawMessage }

func (o own) AppendJSON(dst []byte) ([]byte, error) { return append(dst, o.text...), nil }

// newest returns the number of the newest message.
func (r *Ring) newest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.index.Next - 1
}
