package streamable

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkIdleStreams measures the memory of an idle stream, including that of net/http and a
// client in the same process.
func BenchmarkIdleStreams(b *testing.B) {
	const streams = 5_000
	for _, modern := range []bool{false, true} {
		b.Run(fmt.Sprintf("modern=%v", modern), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(idleMemory(b, modern, streams)/streams, "B/stream")
			}
		})
	}
}

func idleMemory(b *testing.B, modern bool, streams int) float64 {
	f := newFixture(&testing.T{})
	e := Handler(f.Server)
	server := httptest.NewServer(e)
	conns := make([]net.Conn, streams)
	for i := range conns {
		session := ""
		if !modern {
			session = openSession(b, e)
		}
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = conn
		if modern {
			body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		} else {
			fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: %s\r\n\r\n", session)
		}
	}
	for _, conn := range conns {
		line, err := bufio.NewReaderSize(conn, 512).ReadString('\n')
		if err != nil || !strings.Contains(line, " 200 ") {
			b.Fatal(line, err)
		}
	}
	runtime.GC()
	runtime.GC()
	var with, without runtime.MemStats
	runtime.ReadMemStats(&with)
	e.Close()
	for _, conn := range conns {
		conn.Close()
	}
	server.Close()
	conns = nil
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&without)
	return float64(with.HeapInuse+with.StackInuse) - float64(without.HeapInuse+without.StackInuse)
}

// openSession opens a session without a connection.
func openSession(b *testing.B, e *Endpoint) string {
	r := httptest.NewRequest("POST", "http://localhost/", io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatal(w.Code, w.Body)
	}
	return w.Header().Get("Mcp-Session-Id")
}
