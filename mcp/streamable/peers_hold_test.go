package streamable

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestASilentStreamOfAPeerStaysOpen resumes a stream of another replica over HTTP/2, which sends
// nothing for longer than a client may take to read an event.
func TestASilentStreamOfAPeerStaysOpen(t *testing.T) {
	f := newFixture(t)
	o := sharedOptions(oneKey)
	o.Peers = func() []string { return []string{"http://127.0.0.1:1"} }
	there := newSite(t, f.Server, o)
	o.WriteTimeout = 300 * time.Millisecond
	o.Peers = func() []string { return []string{there.url} }
	e := HandlerWith(f.Server, o)
	t.Cleanup(e.Close)
	server := httptest.NewUnstartedServer(e)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	here := &site{t, e, server.URL, server.Client()}

	id := there.handshake("2025-11-25")
	session := []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"}
	go func() { f.steps <- "one" }()
	steps := there.events(there.do("POST", callTool(2, "steps", `{}`), session...))
	steps.want("one")
	f.steps <- "disconnect"
	for _, err := steps.next(); err == nil; _, err = steps.next() {
	}
	go func() { f.steps <- "two" }()
	resp := here.do("GET", "", append(session, "Last-Event-ID", steps.last)...)
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, status %d", resp.Proto, resp.StatusCode)
	}
	resumed := here.events(resp)
	resumed.want("two")
	time.Sleep(3 * o.WriteTimeout)
	close(f.steps)
	resumed.want("all steps done")
	resumed.wantEnd()
}
