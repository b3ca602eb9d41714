package streamable

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// A hostile client sends what costs the server most.
type hostile struct {
	*site
	sessions []string
}

// parallel calls f for 0 to n-1, a few at a time.
func (h *hostile) parallel(n int, f func(i int)) {
	var running sync.WaitGroup
	next := make(chan int)
	for range 8 {
		running.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	running.Wait()
}

// send sends a POST and drops what comes back but for the session.
func (h *hostile) send(body string, header ...string) (session string) {
	r, err := http.NewRequest("POST", h.url, strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return ""
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := h.client.Do(r)
	if err != nil {
		return "" // a server may disconnect a client that sends too much
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.Header.Get("Mcp-Session-Id")
}

// halfOpen announces a large body and sends only a part of it.
func (h *hostile) halfOpen() {
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.t.Error(err)
		return
	}
	h.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", 16<<20)
	io.WriteString(conn, strings.Repeat(" ", 128<<10))
}

// abandonStream opens a stream and closes it.
func (h *hostile) abandonStream(session string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", h.url, nil)
	r.Header.Set("Mcp-Session-Id", session)
	if resp, err := h.client.Do(r); err == nil {
		resp.Body.Close()
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestTheWorstAnonymousClientLeavesLittleBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 10,000 large requests")
	}
	f := newFixture(t)
	mcp.AddTool(f.Server, "large", func(ctx context.Context, _ struct{}) (string, error) {
		mcp.Progress(ctx, 1, 1, "") // makes the response an event that is kept
		return strings.Repeat("x", 64<<10), nil
	})
	h := &hostile{site: newSite(t, f.Server, Options{})}
	before := heap()
	description := func(i int) string { return fmt.Sprintf("%d%s", i, strings.Repeat("d", 15<<10)) }
	var mu sync.Mutex
	h.parallel(2_000, func(i int) {
		session := h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":%q}},"clientInfo":{"name":%q,"version":"1"}}}`, description(i), description(i)))
		if session != "" {
			mu.Lock()
			h.sessions = append(h.sessions, session)
			mu.Unlock()
		}
	})
	if len(h.sessions) == 0 {
		t.Fatal("no session was opened")
	}
	of := func(i int) string { return h.sessions[i%len(h.sessions)] }
	h.parallel(2_000, func(i int) {
		meta := fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"},"io.modelcontextprotocol/clientCapabilities":{"experimental":{"x":%q}}}`, description(i), description(i))
		h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list")
	})
	h.parallel(2_000, func(i int) {
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"x:%d%s"}}`, i, i, strings.Repeat("u", 8<<10-20)), "Mcp-Session-Id", of(i%4))
	})
	h.parallel(700, func(i int) { h.send(callTool(i, "large", "{}"), "Mcp-Session-Id", of(i)) })
	h.parallel(20, func(i int) {
		h.send(callTool(i, "echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("b", 4<<20))), "Mcp-Session-Id", of(i))
	})
	h.parallel(2_000, func(i int) { h.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", of(i)) })
	h.parallel(250, func(int) { h.halfOpen() })
	h.parallel(1_000, func(i int) { h.abandonStream(of(i % 8)) })
	h.client.CloseIdleConnections()
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	} else {
		t.Logf("%d sessions; the heap grew by %d KiB", len(h.sessions), grown>>10)
	}
}
