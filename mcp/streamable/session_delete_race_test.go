package streamable

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestADeletedSharedSessionStaysDeleted deletes sessions while another request makes them again
// from their ids.
func TestADeletedSharedSessionStaysDeleted(t *testing.T) {
	f := newFixture(t)
	e := HandlerWith(f.Server, sharedOptions(oneKey))
	t.Cleanup(e.Close)
	do := func(method, id, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if id != "" {
			r.Header.Set("Mcp-Session-Id", id)
		}
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		return w
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for i := range 3_000 {
		id := do("POST", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`).Header().Get("Mcp-Session-Id")
		var running sync.WaitGroup
		begin := make(chan struct{})
		for range 3 {
			running.Go(func() { <-begin; do("POST", id, ping) })
		}
		running.Go(func() {
			<-begin
			if w := do("DELETE", id, ""); w.Code != http.StatusNoContent {
				t.Errorf("DELETE: status %d", w.Code)
			}
		})
		close(begin)
		running.Wait()
		if w := do("POST", id, ping); w.Code != http.StatusNotFound {
			t.Fatalf("session %d: a ping after its end: status %d", i, w.Code)
		}
	}
}
