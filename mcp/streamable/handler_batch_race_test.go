package streamable

import (
	"strings"
	"testing"
)

// The requests of a batch run at the same time. Each sets exchange.asked (context()), a parent of
// all other contexts.
func TestBatchInASessionHasNoRace(t *testing.T) {
	f := newFixture(t)
	s := newSite(t, f.Server, Options{})
	id := s.handshake("2025-03-26")
	var calls []string
	for i := range 20 {
		calls = append(calls, callTool(i+1, "echo", `{"text":"hi"}`))
	}
	for range 20 {
		body := s.read(s.do("POST", "["+strings.Join(calls, ",")+"]", "MCP-Protocol-Version", "2025-03-26", "Mcp-Session-Id", id))
		if !strings.Contains(body, "hi") {
			t.Fatal(body)
		}
	}
}
