package streamable

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/junction-mcp/junction/state"
)

// A discard is a response that is dropped.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Flush()                      {}

// BenchmarkCall measures a call of a tool without net/http.
func BenchmarkCall(b *testing.B) {
	const params = `"name":"echo","arguments":{"text":"the text to echo, sixty-four bytes long, as people's are: 64 bytes"}`
	const legacy = `{"jsonrpc":"2.0","id":100000000,"method":"tools/call","params":{` + params + `}}`
	const modern = `{"jsonrpc":"2.0","id":100000000,"method":"tools/call","params":{` + params + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	f := newFixture(&testing.T{})
	e := Handler(f.Server)
	session := func(e *Endpoint) http.Header {
		first := httptest.NewRecorder()
		open := httptest.NewRequest("POST", "http://localhost/", bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)))
		open.Header.Set("Content-Type", "application/json")
		open.Header.Set("Accept", "application/json, text/event-stream")
		e.ServeHTTP(first, open)
		return http.Header{"Mcp-Protocol-Version": {"2025-11-25"}, "Mcp-Session-Id": first.Result().Header["Mcp-Session-Id"]}
	}
	sealed, kept := HandlerWith(f.Server, sharedOptions(oneKey)), sharedOptions(oneKey)
	log := &replicaLog{Log: state.NewMemory(0), name: "a"}
	events, err := NewEventLog(log, oneKey, nil)
	if err != nil {
		b.Fatal(err)
	}
	kept.EventLog, kept.SharedTasks = events, true
	logged := HandlerWith(f.Server, kept)
	defer func() {
		events.Close()
		if n := log.ops.Load(); n > 0 {
			b.Errorf("calls without events need %d operations", n)
		}
	}()
	for _, mode := range []struct {
		name     string
		endpoint *Endpoint
		body     string
		header   http.Header
	}{
		{"stateful", e, legacy, session(e)},
		{"sealed", sealed, legacy, session(sealed)},
		{"sealed, with a log of events", logged, legacy, session(logged)},
		{"stateless", HandlerWith(f.Server, Options{Stateless: true}), legacy, http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}},
		{"modern", e, modern, http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}}},
	} {
		b.Run(mode.name, func(b *testing.B) {
			r := httptest.NewRequest("POST", "http://localhost/", nil)
			r.Header = mode.header
			r.Header["Content-Type"] = []string{"application/json"}
			r.Header["Accept"] = []string{"application/json, text/event-stream"}
			r.ContentLength = int64(len(mode.body))
			body := bytes.NewReader([]byte(mode.body))
			r.Body = io.NopCloser(body)
			w := &discard{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				body.Reset([]byte(mode.body))
				clear(w.header)
				mode.endpoint.ServeHTTP(w, r)
				if w.status != http.StatusOK {
					b.Fatal(w.status)
				}
			}
		})
	}
}
