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

	"github.com/junction-mcp/junction/internal/threadtime"
	"github.com/junction-mcp/junction/mcp"
)

// A hostile client sends the requests that cost the server most.
type hostile struct {
	*site
	mu       sync.Mutex
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

// send sends a POST and drops the response except the session.
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

// modern sends a modern request in which the client's name and its capabilities each contain a
// string of described bytes.
func (h *hostile) modern(method, name, params string, described int) {
	about := strings.Repeat("d", described)
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"},"io.modelcontextprotocol/clientCapabilities":{"experimental":{"x":%q}}}}}`, method, params, about, about),
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
}

// initialize opens a session with two descriptions of the client of the given size.
func (h *hostile) initialize(i, described int) {
	about := fmt.Sprintf("%d%s", i, strings.Repeat("d", described))
	session := h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{"experimental":{"x":%q}},"clientInfo":{"name":%q,"version":"1"}}}`,
		[]string{"2025-11-25", "2025-03-26"}[i%2], about, about))
	if session != "" {
		h.mu.Lock()
		h.sessions = append(h.sessions, session)
		h.mu.Unlock()
	}
}

// listenHalfOpen opens a modern subscription to a large URI, and leaves it open.
func (h *hostile) listenHalfOpen(i int) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.t.Error(err)
		return
	}
	h.t.Cleanup(func() { conn.Close() })
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:%d%s"]},%s}}`, i, strings.Repeat("u", 8<<10-20), modernMeta)
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// everyMethod holds the requests of a session, with a placeholder for the longest allowed text.
var everyMethod = []string{
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"%s"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"%s"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:%s"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list","params":{"cursor":"%s"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"%s"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"%s"},"argument":{"name":"x","value":"y"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug","_meta":{"x":"%s"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"%s"}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%.200s","reason":"x"}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"%s","progress":1}}`,
	`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":{"x":"%s"}}}`,
	`{"jsonrpc":"2.0","id":"%.200s","result":{}}`,
	`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s"}}]`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","%s":1`,
}

func TestTheWorstAnonymousClientLeavesLittleBehind(t *testing.T) {
	if testing.Short() || threadtime.Slowdown > 2 { // with the race detector it takes a minute, and measures its memory too
		t.Skip("sends 14,000 large requests, to measure the heap")
	}
	f := newFixture(t)
	mcp.AddTool(f.Server, "large", func(ctx context.Context, _ struct{}) (string, error) {
		mcp.Progress(ctx, 1, 1, "") // turns the response into an event that is kept
		return strings.Repeat("x", 64<<10), nil
	})
	h := &hostile{site: newSite(t, f.Server, Options{})}
	before := heap()
	h.parallel(2_000, func(i int) { h.initialize(i, 15<<10) })
	h.parallel(64, func(i int) { h.initialize(i, 1<<20) })
	if len(h.sessions) == 0 {
		t.Fatal("no session was opened")
	}
	of := func(i int) string { return h.sessions[i%len(h.sessions)] }
	h.parallel(2_000, func(i int) { h.modern("tools/list", "", "", 15<<10) })
	h.parallel(64, func(i int) { h.modern("tools/list", "", "", 1<<20) })
	h.parallel(500, func(i int) { h.modern("tools/call", "echo", `"name":"echo","arguments":{"text":"x"},`, 15<<10) })
	h.parallel(2_000, func(i int) {
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"x:%d%s"}}`, i, i, strings.Repeat("u", 8<<10-20)), "Mcp-Session-Id", of(i%4))
	})
	h.parallel(700, func(i int) { h.send(callTool(i, "large", "{}"), "Mcp-Session-Id", of(i)) })
	h.parallel(20, func(i int) {
		h.send(callTool(i, "echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("b", 4<<20))), "Mcp-Session-Id", of(i))
	})
	large := strings.Repeat("m", 8<<10)
	h.parallel(300*len(everyMethod), func(i int) {
		h.send(fmt.Sprintf(everyMethod[i%len(everyMethod)], large), "Mcp-Session-Id", of(i))
	})
	h.parallel(250, func(int) { h.halfOpen() })
	h.parallel(250, h.listenHalfOpen)
	h.parallel(1_000, func(i int) { h.abandonStream(of(i % 8)) })
	h.client.CloseIdleConnections()
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	} else {
		t.Logf("%d sessions; the heap grew by %d KiB", len(h.sessions), grown>>10)
	}
}
