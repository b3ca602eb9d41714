package streamable

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// watching is a Wire that requests notes of each request of a client.
type watching struct{ notes chan string }

func (watching) Watching() bool { return true }

func (w watching) Passes(ctx context.Context, m mcp.WireMessage) context.Context {
	if m.ToServer {
		return mcp.WithNoteObserver(ctx, w)
	}
	return ctx
}

func (w watching) Note(_ string, note any) {
	text, _ := json.Marshal(note)
	w.notes <- string(text)
}

func TestTheHeadersOfARequestThatIsCancelledAreNoted(t *testing.T) {
	f := newFixture(t)
	w := watching{make(chan string, 10)}
	var o Options
	o.Wire = w
	s := newSite(t, f.Server, o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.abandon(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait",`+modernMeta+`}}`,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "wait")
	}()
	<-f.begun
	cancel()
	<-f.causes
	<-done
	wait(t, func() bool { return len(w.notes) > 0 })
	if got := <-w.notes; !strings.Contains(got, `"Mcp-Name":["wait"]`) || strings.Contains(got, `"status"`) {
		t.Error(got)
	}
}
